#include <signal.h>
#include <unistd.h>

#include "base/dice.h"
#include "database/backend_test.h"
#include "tests/servers/process.h"

namespace cadre::database {
namespace {

constexpr int rounds = 8;

class CrashContract : public BothEngines {
 protected:
  void SetUp() override {
    ASSERT_DONE(db_->exec("CREATE TABLE steps (id BIGINT PRIMARY KEY, note TEXT)"));
    ASSERT_DONE(db_->exec("CREATE TABLE total (steps BIGINT)"));
    ASSERT_DONE(db_->exec("INSERT INTO total (steps) VALUES (0)"));
    db_.reset();
  }
};

/// Writes steps for ever, and says each on `out` once it is committed.
int write_steps(const std::string& url, std::int64_t first, int out) {
  const auto db = open(url).value();
  for (std::int64_t id = first;; ++id) {
    const auto done = db->transaction([&](Transaction& transaction) -> Result<void> {
      TRY(transaction.exec("UPDATE total SET steps = $1", {id}));
      TRY(transaction.exec("INSERT INTO steps (id, note) VALUES ($1, $2)", {id, std::string(3'000, 'x')}));
      return {};
    });
    if (!done || write(out, &id, sizeof(id)) != sizeof(id)) return 1;
  }
}

/// The last step that was acknowledged, after at least `wanted` more; the writer is killed with more under way.
std::int64_t kill_after(pid_t writer, int in, std::int64_t wanted, std::int64_t before) {
  std::int64_t last = before, said = 0;
  while (read(in, &said, sizeof(said)) == sizeof(said)) {
    last = said;
    if (last == before + wanted) kill(writer, SIGKILL);
  }
  return last;
}

TEST_P(CrashContract, AKilledWriterLeavesWhatWasAcknowledgedAndAtMostTheOneUnderWay) {
  Dice dice(7);
  std::int64_t before = 0;
  for (int round = 0; round < rounds; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t writer = servers::fork_child([&] { return write_steps(backend_.url(), before + 1, ends[1]); });
    close(ends[1]);
    const std::int64_t acknowledged = kill_after(writer, ends[0], dice.between(1, 30), before);
    close(ends[0]);
    EXPECT_EQ(servers::wait_for(writer), -1) << "it ended by itself";
    ASSERT_GT(acknowledged, before);

    const auto db = backend_.connect();
    ASSERT_DONE(db->transaction([&](Transaction& transaction) -> Result<void> {
      TRY(transaction.lock("total"));  // waits for what the server still does for the dead
      before = cell<std::int64_t>(transaction, "SELECT steps FROM total");
      EXPECT_EQ(cell<std::int64_t>(transaction, "SELECT count(*) FROM steps"), before);
      EXPECT_EQ(cell<std::int64_t>(transaction, "SELECT max(id) FROM steps"), before);
      return {};
    }));
    EXPECT_GE(before, acknowledged);
    EXPECT_LE(before, acknowledged + 1);
  }
  if (GetParam() == Kind::postgresql) return;
  EXPECT_EQ(cell<std::string>(*backend_.connect(), "PRAGMA integrity_check"), "ok");
}

INSTANTIATE_FOR_BOTH_ENGINES(CrashContract);

}  // namespace
}  // namespace cadre::database
