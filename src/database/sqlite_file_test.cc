// What stands for a lost connection with SQLite: the file is moved away, replaced, damaged, or cannot be opened.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "database/backend_test.h"
#include "tests/servers/process.h"

namespace cadre::database {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SqliteFile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_DONE(db_->exec("CREATE TABLE kept (id BIGINT PRIMARY KEY)"));
    ASSERT_DONE(db_->exec("INSERT INTO kept (id) VALUES (1)"));
  }
  void move(const std::string& from, const std::string& to) {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      if (fs::exists(from + suffix)) fs::rename(from + suffix, to + suffix);
    }
  }
  std::int64_t kept() { return cell<std::int64_t>(*db_, "SELECT count(*) FROM kept"); }

  Backend backend_{Kind::sqlite};
  std::string away_ = backend_.folder() + "/away.db";
  std::unique_ptr<Database> db_ = backend_.connect();
};

TEST_F(SqliteFile, MovedAwayIsAnErrorUntilItIsBack) {
  move(backend_.path(), away_);
  const auto lost = db_->exec("INSERT INTO kept (id) VALUES (2)");
  EXPECT_ERROR(Errc::unavailable, lost);
  EXPECT_THAT(lost.error().message, HasSubstr(backend_.path()));
  EXPECT_ERROR(Errc::not_found, db_->exec("INSERT INTO kept (id) VALUES (2)"));
  EXPECT_FALSE(fs::exists(backend_.path())) << "a lost database must not begin anew with nothing";
  move(away_, backend_.path());
  ASSERT_DONE(db_->exec("INSERT INTO kept (id) VALUES (2)"));
  EXPECT_EQ(kept(), 2);
}

TEST_F(SqliteFile, MovedAwayWithinATransactionFailsItAsAWhole) {
  EXPECT_ERROR(Errc::unavailable, db_->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(transaction.exec("INSERT INTO kept (id) VALUES (2)"));
    move(backend_.path(), away_);
    return {};
  }));
  move(away_, backend_.path());
  EXPECT_EQ(kept(), 1);
}

TEST_F(SqliteFile, ReplacedByAnotherIsNoticedBeforeItIsUsed) {
  const Backend other(Kind::sqlite);
  ASSERT_DONE(other.connect()->exec("CREATE TABLE kept (id BIGINT PRIMARY KEY)"));
  move(backend_.path(), away_);
  move(other.path(), backend_.path());
  EXPECT_ERROR(Errc::unavailable, db_->query("SELECT id FROM kept"));
  EXPECT_EQ(kept(), 0);
}

TEST_F(SqliteFile, ThatIsNoDatabaseIsCorruptAndLeftAsItIs) {
  const std::string path = backend_.folder() + "/notes.txt";
  std::ofstream(path) << std::string(5'000, 'x');
  EXPECT_ERROR(Errc::corrupt, open("sqlite://" + path));
  EXPECT_EQ(fs::file_size(path), 5'000);
}

TEST_F(SqliteFile, ThatIsDamagedIsCorrupt) {
  std::vector<Values> rows;
  for (std::int64_t id = 10; id < 5'000; ++id) rows.push_back({id});
  const std::vector<std::string> columns{"id"};
  ASSERT_DONE(db_->bulk_insert({"kept", columns, rows}));
  db_.reset();
  const auto size = static_cast<off_t>(fs::file_size(backend_.path()));
  const int file = ::open(backend_.path().c_str(), O_WRONLY | O_CLOEXEC);
  const std::string garbage(static_cast<std::size_t>(size) - 4096, '\x7f');
  ASSERT_EQ(pwrite(file, garbage.data(), garbage.size(), 4096), static_cast<ssize_t>(garbage.size()));
  close(file);
  db_ = backend_.connect();
  EXPECT_ERROR(Errc::corrupt, db_->query("SELECT count(*) FROM kept"));
}

TEST_F(SqliteFile, InAFolderThatIsNotThereIsNotFound) {
  EXPECT_ERROR(Errc::not_found, open("sqlite://" + backend_.folder() + "/none/x.db"));
}

TEST_F(SqliteFile, ThatMayNotBeReadOrWrittenIsDenied) {
  db_.reset();
  chmod(backend_.path().c_str(), 0);
  const auto try_it = [&] {  // as an ordinary user, for whom permissions hold
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
    const auto denied = open(backend_.url());
    return !denied && denied.error().code == Errc::denied ? 0 : 1;
  };
  EXPECT_EQ(servers::wait_for(servers::fork_child(try_it)), 0);
  chmod(backend_.path().c_str(), 0444);
  const auto write_it = [&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
    const auto db = open(backend_.url());
    const auto denied =
        db ? (*db)->exec("INSERT INTO kept (id) VALUES (9)") : Result<std::int64_t>(Failure(db.error()));
    return !denied && denied.error().code == Errc::denied ? 0 : 1;
  };
  EXPECT_EQ(servers::wait_for(servers::fork_child(write_it)), 0);
}

}  // namespace
}  // namespace cadre::database
