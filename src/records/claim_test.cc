#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include "database/migrate.h"
#include "records/backend_test.h"
#include "records/schema.h"
#include "tests/servers/process.h"
#include "tests/servers/proxy.h"

namespace cadre::records {
namespace {

namespace control = cluster::control;
using testing::AllOf;
using testing::HasSubstr;

class ClaimContract : public BothEngines {};

control::Writes one_change(std::uint64_t number) {
  control::Writes writes;
  writes.changes.push_back({number, TimePoint(Duration(7)), "job", std::to_string(number), "queued", ""});
  return writes;
}

TEST_P(ClaimContract, ASecondMasterIsRefusedWhileTheFirstLives) {
  auto first = open(backend_.url());
  const auto second = open_for_tests(backend_.url(), silent_log());
  EXPECT_ERROR(Errc::conflict, second);
  EXPECT_THAT(second.error().message, testing::HasSubstr("another master that is running"));
  if (GetParam() == Kind::sqlite) {
    EXPECT_THAT(second.error().message, testing::HasSubstr("process " + std::to_string(getpid())));
  }
  first.reset();
  ASSERT_DONE(open_for_tests(backend_.url(), silent_log()));
}

TEST_P(ClaimContract, ASecondMasterLeavesTheTablesOfALivingOneAlone) {
  const auto first = open(backend_.url());
  ASSERT_DONE(first->begin_boot());
  ASSERT_DONE(backend_.connect()->exec("DELETE FROM cadre_schema"));  // as if steps were missing
  EXPECT_ERROR(Errc::conflict, open_for_tests(backend_.url(), silent_log()));
  EXPECT_EQ(database::schema_version(*backend_.connect()).value(), 0);
}

TEST_P(ClaimContract, AKilledMasterLeavesNothingBehind) {
  for (int round = 0; round < 3; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = servers::fork_child([&] {
      const auto records = open(backend_.url());
      if (write(ends[1], "x", 1) != 1) return 1;
      pause();
      return 0;
    });
    char said = 0;
    ASSERT_EQ(read(ends[0], &said, 1), 1);
    if (round == 0) EXPECT_ERROR(Errc::conflict, open_for_tests(backend_.url(), silent_log()));
    kill(child, SIGKILL);
    ASSERT_EQ(servers::wait_for(child), -1);
    ASSERT_DONE(open_for_tests(backend_.url(), silent_log()));
    close(ends[0]);
    close(ends[1]);
  }
}

TEST_P(ClaimContract, BootsOnlyGrow) {
  std::uint64_t last = 0;
  for (int start = 0; start < 4; ++start) {
    const auto records = open(backend_.url());
    const std::uint64_t boot = records->begin_boot().value();
    EXPECT_GT(boot, last);
    last = boot;
  }
}

TEST_P(ClaimContract, ALaterMasterFencesTheEarlierOne) {
  const auto earlier = open(backend_.url());
  ASSERT_DONE(earlier->begin_boot());
  ASSERT_DONE(earlier->commit(rows_of(one_change(1))));
  ASSERT_DONE(backend_.connect()->exec("UPDATE master SET boot = boot + 1"));  // as the later one does
  EXPECT_ERROR(Errc::denied, earlier->commit(rows_of(one_change(2))));
  EXPECT_ERROR(Errc::denied, earlier->load({10, any_bytes}));
  EXPECT_ERROR(Errc::denied, earlier->prune_changes(0, 100));
  EXPECT_ERROR(Errc::denied, earlier->add_join_token({"hash", {}, "default"}));
  EXPECT_EQ(earlier->changes_since(0, 10).value().size(), 1U);
}

TEST_P(ClaimContract, AStartMayBeNumberedAboveWhatIsKnownElsewhere) {
  const auto records = open(backend_.url());
  EXPECT_EQ(records->boot(), 0U);
  EXPECT_EQ(records->begin_boot().value(), 1U);
  EXPECT_EQ(records->begin_boot(7).value(), 8U);
  EXPECT_EQ(records->begin_boot(3).value(), 9U);
  EXPECT_EQ(records->boot(), 9U);
}

TEST_P(ClaimContract, AClusterKeepsItsId) {
  {
    const auto records = open(backend_.url());
    EXPECT_EQ(records->cluster(), "");
    ASSERT_DONE(records->name_cluster("c1"));
  }
  EXPECT_EQ(open(backend_.url())->cluster(), "c1");
}

TEST_P(ClaimContract, ADatabaseFromTheFutureIsRefused) {
  open(backend_.url()).reset();
  const auto next = std::to_string(migrations().size() + 1);
  ASSERT_DONE(backend_.connect()->exec("INSERT INTO cadre_schema VALUES (" + next + ", 'what is to come', '0')"));
  const auto refused = open_for_tests(backend_.url(), silent_log());
  EXPECT_ERROR(Errc::invalid, refused);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("has schema version " + next), HasSubstr("run a newer release of cadre"),
                    HasSubstr("restore a backup made before the upgrade")));
}

INSTANTIATE_FOR_BOTH_ENGINES(ClaimContract);

TEST(ClaimByName, AFileIsTheSameByWhateverName) {
  const servers::TempDir folder;
  ASSERT_DONE(database::open("sqlite://" + folder.path() + "/real.db"));
  ASSERT_EQ(symlink("real.db", (folder.path() + "/other.db").c_str()), 0);
  const auto first = open_for_tests("sqlite://" + folder.path() + "/real.db", silent_log());
  ASSERT_DONE(first);
  EXPECT_ERROR(Errc::conflict, open_for_tests("sqlite://" + folder.path() + "/other.db", silent_log()));
}

TEST(ClaimByName, DatabasesInMemoryAreEachTheirOwn) {
  const auto first = open_for_tests("sqlite::memory:", silent_log());
  ASSERT_DONE(first);
  ASSERT_DONE(open_for_tests("sqlite::memory:", silent_log()));
  ASSERT_DONE((*first)->commit(rows_of(one_change(1))));
}

/// A master behind a network that fails.
class ClaimByNetwork : public testing::Test {
 protected:
  void SetUp() override { ASSERT_DONE(records_->begin_boot()); }

  /// A cut may be noticed in the middle of a commit: then nothing was written, and it is repeated.
  Result<void> commit(std::uint64_t number) {
    for (int tries = 0;; ++tries) {
      auto done = records_->commit(rows_of(one_change(number)));
      if (done || done.error().code != Errc::unavailable || tries == 3) return done;
    }
  }

  Backend backend_{Kind::postgresql};
  servers::Proxy proxy_{servers::shared_postgres().port()};
  std::unique_ptr<Records> records_ = open_for_tests(backend_.url_by(proxy_.port()), silent_log()).value();
};

TEST_F(ClaimByNetwork, IsTakenAgainWithANewConnection) {
  const auto db = backend_.connect();
  const auto claims = [&] {
    return db->query("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted").value().cells();
  };
  const auto before = claims();
  ASSERT_EQ(before.size(), 1U);
  proxy_.spoil(servers::Proxy::Fault::cut);
  ASSERT_DONE(commit(1));  // the server may not yet have given up the old connection
  for (int tries = 0; claims() == before && tries < 1'000; ++tries) usleep(5'000);
  ASSERT_DONE(commit(2));
  EXPECT_ERROR(Errc::conflict, open_for_tests(backend_.url(), silent_log()));
}

TEST_F(ClaimByNetwork, IsConfirmedWithoutWritingUntilAnotherHasIt) {
  EXPECT_TRUE(records_->must_confirm());
  ASSERT_DONE(records_->confirm());
  proxy_.spoil(servers::Proxy::Fault::cut);
  const auto db = backend_.connect();
  const auto is_free = [&] {
    return db->query("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted").value().cells().empty();
  };
  for (int tries = 0; !is_free() && tries < 1'000; ++tries) usleep(5'000);
  const auto other = open_for_tests(backend_.url(), silent_log());
  ASSERT_DONE(other);
  Result<void> confirmed = records_->confirm();  // the first attempt may only find out that the connection is gone
  for (int tries = 0; !confirmed && confirmed.error().code == Errc::timed_out && tries < 3; ++tries) {
    confirmed = records_->confirm();
  }
  EXPECT_ERROR(Errc::unavailable, confirmed);  // the other has the lock, and may begin at any moment
  ASSERT_DONE((*other)->begin_boot());
  EXPECT_ERROR(Errc::denied, records_->confirm());
}

TEST_F(ClaimByNetwork, AfterALostAnswerTheSameWritesDoNoHarm) {
  for (const auto moment : {servers::Proxy::Moment::before, servers::Proxy::Moment::after}) {
    proxy_.spoil_when_client_says("COMMIT", moment, servers::Proxy::Fault::cut);
    EXPECT_ERROR(Errc::timed_out, records_->commit(rows_of(one_change(1))));
    ASSERT_DONE(records_->commit(rows_of(one_change(1))));
    EXPECT_EQ(records_->changes_since(0, 10).value().size(), 1U);
    ASSERT_DONE(backend_.connect()->exec("DELETE FROM changes"));
  }
}

TEST_F(ClaimByNetwork, AMasterThatWasCutOffCannotWriteOnceAnotherHasBegun) {
  proxy_.spoil(servers::Proxy::Fault::cut);
  const auto other = open_for_tests(backend_.url(), silent_log());
  ASSERT_DONE(other);
  ASSERT_DONE((*other)->begin_boot());
  EXPECT_ERROR(Errc::denied, commit(1));
  EXPECT_TRUE((*other)->changes_since(0, 10).value().empty());
}

TEST_F(ClaimByNetwork, ALostConnectionIsUnavailableAndThenMended) {
  proxy_.spoil_when_client_says("changes", servers::Proxy::Moment::before, servers::Proxy::Fault::cut);
  EXPECT_ERROR(Errc::unavailable, records_->commit(rows_of(one_change(1))));
  ASSERT_DONE(records_->commit(rows_of(one_change(1))));
}

}  // namespace
}  // namespace cadre::records
