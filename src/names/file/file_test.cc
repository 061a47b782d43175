// Names in a folder: with other processes, with clocks that go wrong, and with those who die in the midst of it.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/seeds.h"
#include "names/backend_test.h"
#include "names/file/file_tree.h"
#include "tests/servers/process.h"

namespace cadre::names {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Claim claim(const std::string& key, const std::string& value, Duration ttl = seconds(1), Epoch epoch = {}) {
  return {key, value, ttl, epoch};
}

/// Sessions in one folder whose steady clock the test sets.
class NamesInAFolder : public testing::Test {
 protected:
  std::unique_ptr<FileTree> session(const std::string& name) {
    FileTreeOptions options;
    options.folder = folder_.path();
    options.session = name;
    options.ended_wait = ended_wait_;
    return std::make_unique<FileTree>(std::move(options), [this] { return now_; });
  }
  std::vector<std::string> files(const std::string& room) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path() + "/names/" + room)) {
      found.push_back(entry.path().lexically_relative(folder_.path() + "/names/" + room));
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  /// As if it had been written so long ago, by the clock of the file server.
  void age(const std::string& file, Duration by) const {
    const fs::path path = folder_.path() + "/names/" + file;
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::duration_cast<fs::file_time_type::duration>(by));
  }

  servers::TempDir folder_;
  TimePoint now_{std::chrono::hours(1)};
  Duration ended_wait_ = std::chrono::minutes(10);
};

TEST_F(NamesInAFolder, AnOwnerWithoutHeartbeatForItsTtlIsDeadRegardlessOfFileTimes) {
  const auto owner = session("owner");
  const auto other = session("other");
  const Epoch epoch = owner->put(claim("a", "v"), PutMode::over).value();
  EXPECT_EQ(other->get("a").value().value, "v");
  fs::last_write_time(folder_.path() + "/names/alive/owner", fs::file_time_type::clock::now() + std::chrono::hours(1));
  now_ += milliseconds(900);
  EXPECT_TRUE(other->get("a").has_value());
  EXPECT_THAT(owner->keep({claim("a", "", seconds(1), epoch)}).value(), ElementsAre(Hold::kept));
  age("alive/owner", std::chrono::hours(1));
  now_ += milliseconds(900);
  EXPECT_TRUE(other->get("a").has_value()) << "its number has changed, however old its file says it is";
  now_ += milliseconds(1'001);
  EXPECT_ERROR(Errc::not_found, other->get("a"));
  EXPECT_THAT(files("keys/a"), ElementsAre(std::to_string(epoch.value) + ".expired"));
  EXPECT_THAT(owner->keep({claim("a", "", seconds(1), epoch)}).value(), ElementsAre(Hold::gone));
  EXPECT_EQ(owner->restore(claim("a", "v", seconds(1), epoch)).value(), epoch);
  EXPECT_EQ(other->get("a").value().value, "v");
}

TEST_F(NamesInAFolder, ANewClientDetectsLongDeadOwnersAtOnce) {
  const auto owner = session("owner");
  ASSERT_DONE(owner->put(claim("a", "v"), PutMode::over));
  age("alive/owner", seconds(5));
  EXPECT_ERROR(Errc::not_found, session("late")->get("a"));
  ASSERT_DONE(session("later")->put(claim("a", "w"), PutMode::only_if_absent));
}

TEST_F(NamesInAFolder, RemovesFilesOfDeadOwners) {
  const auto dead = session("dead");
  for (const char* key : {"a", "b", "c/d"}) ASSERT_DONE(dead->put(claim(key, "v"), PutMode::over));
  fs::create_directory(folder_.path() + "/names/new/dead.17");
  std::ofstream(folder_.path() + "/names/values/dead.99") << "without a mark";
  std::ofstream(folder_.path() + "/names/values/unheard.1") << "of nobody";
  const auto living = session("living");
  ASSERT_DONE(living->put(claim("mine", "v"), PutMode::over));
  EXPECT_EQ(living->list("").value().size(), 4);
  now_ += seconds(6);
  ASSERT_DONE(living->list(""));
  EXPECT_THAT(files("alive"), ElementsAre("living"));
  EXPECT_THAT(files("values"), ElementsAre("living.1"));
  EXPECT_THAT(files("new"), IsEmpty());
  for (const char* key : {"keys/a", "keys/b", "keys/c,d"}) age(key, std::chrono::hours(1));
  now_ += seconds(6);
  ASSERT_DONE(living->list(""));
  EXPECT_EQ(files("keys").size(), 2) << "in the end not even how it ended is known";
  EXPECT_EQ(files("epoch").size(), 1);
}

TEST_F(NamesInAFolder, RemovesOldPartialFiles) {
  const auto living = session("living");
  ASSERT_DONE(living->list(""));
  for (const char* name : {"old.tmp", "young.tmp"}) std::ofstream(folder_.path() + "/names/alive/" + name) << "1";
  age("alive/old.tmp", seconds(11));
  now_ += seconds(6);
  ASSERT_DONE(living->list(""));
  EXPECT_THAT(files("alive"), ElementsAre("young.tmp"));
}

TEST_F(NamesInAFolder, AValueThatIsMissingIsPutBackByItsOwner) {
  const auto owner = session("owner");
  const auto other = session("other");
  const Epoch epoch = owner->put(claim("a", "v"), PutMode::over).value();
  fs::remove(folder_.path() + "/names/values/owner.1");
  EXPECT_ERROR(Errc::not_found, other->get("a"));
  EXPECT_THAT(owner->keep({claim("a", "", seconds(1), epoch)}).value(), ElementsAre(Hold::gone));
  EXPECT_EQ(owner->restore(claim("a", "v", seconds(1), epoch)).value(), epoch);
  EXPECT_EQ(other->get("a").value(), (Entry{"a", "v", epoch}));
}

TEST_F(NamesInAFolder, AFolderThatIsRemovedIsMadeAgainAndEpochsGrow) {
  const auto owner = session("owner");
  const Epoch epoch = owner->put(claim("a", "v"), PutMode::over).value();
  fs::remove_all(folder_.path() + "/names");
  EXPECT_THAT(owner->keep({claim("a", "", seconds(1), epoch)}).value(), ElementsAre(Hold::gone));
  EXPECT_GT(owner->restore(claim("a", "v", seconds(1), epoch)).value(), epoch);
  EXPECT_EQ(session("other")->get("a").value().value, "v");
}

TEST_F(NamesInAFolder, AFolderThatCannotBeIsAnErrorThatNamesIt) {
  const std::string file = folder_.path() + "/file";
  std::ofstream(file) << "no folder";
  Side side("file://" + file + "/below");
  const auto put = side.put("a", "v");
  EXPECT_ERROR(Errc::unavailable, put);
  EXPECT_THAT(put.error().message, HasSubstr(file));
  EXPECT_ERROR(Errc::timed_out, side.wait("a", milliseconds(50)));
}

/// As an operation on a file server that does not answer.
loop::Task<void> block(loop::BlockingPool& pool, std::atomic<bool>& goes_on) {
  auto wait = [&goes_on]() -> Result<void> {
    goes_on.wait(false);
    return {};
  };
  co_await pool.run(wait);
}

TEST_F(NamesInAFolder, AFolderThatDoesNotAnswerIsAnErrorInTime) {
  loop::RealLoop loop;
  loop::ThreadPool pool(loop, {"stuck", 1, 64});
  std::atomic<bool> goes_on = false;
  Options options;
  options.op_wait = milliseconds(50);
  auto names = open(loop, pool, "file://" + folder_.path(), options).value();
  ASSERT_DONE(net::http::run_task(loop, names->put("a", "v", {})));
  loop.spawn(block(pool, goes_on));
  for (int i = 0; i < 3; ++i) EXPECT_ERROR(Errc::timed_out, net::http::run_task(loop, names->get("a")));
  names.reset();  // does not wait for it either
  goes_on = true;
  goes_on.notify_all();
  const auto other = session("other");
  net::http::run_until(loop, [&] { return !other->get("a").has_value(); });
}

/// What many do at once in drawn order, against what one would see who does the same one after another.
TEST_F(NamesInAFolder, DoesWhatANaiveOneDoes) {
  FOR_SEEDS(12, [&](Dice& dice) {
    fs::remove_all(folder_.path() + "/names");
    ended_wait_ = dice.percent(50) ? std::chrono::minutes(10) : seconds(-1);
    std::vector<std::unique_ptr<FileTree>> sessions;
    for (const char* name : {"0", "1", "2"}) sessions.push_back(session(name));
    struct Had {
      std::size_t by;
      std::string value;
      Epoch epoch;
    };
    std::map<std::string, Had> naive;
    Epoch largest;
    for (int i = 0; i < 60; ++i) {
      const std::size_t by = dice.below(3);
      const std::string key = std::string(1, static_cast<char>('a' + dice.below(3))) + (dice.percent(50) ? "/x" : "");
      const auto had = naive.find(key);
      switch (dice.below(6)) {
        case 0:
          ASSERT_EQ(sessions[by]->remove(key).has_value(), had != naive.end());
          naive.erase(key);
          break;
        case 1: {
          const std::string prefix = key.substr(0, 1);
          const auto below = [&](const auto& each) { return is_below(each.first, prefix); };
          const auto count = static_cast<std::size_t>(std::count_if(naive.begin(), naive.end(), below));
          ASSERT_EQ(sessions[by]->remove_subtree(prefix).value(), count);
          std::erase_if(naive, below);
          break;
        }
        case 2:
          if (had == naive.end()) break;
          for (std::size_t whose = 0; whose < 3; ++whose) {
            const auto holds = sessions[whose]->keep({claim(key, "", seconds(1), had->second.epoch)});
            ASSERT_THAT(holds.value(), ElementsAre(whose == had->second.by ? Hold::kept : Hold::lost));
          }
          break;
        default: {
          const PutMode mode = dice.percent(50) ? PutMode::over : PutMode::only_if_absent;
          const std::string value = std::to_string(i);
          const auto epoch = sessions[by]->put(claim(key, value), mode);
          const bool is_free = had == naive.end() || had->second.by == by || mode == PutMode::over;
          ASSERT_EQ(epoch.has_value(), is_free);
          if (!epoch) break;
          if (had != naive.end() && had->second.by == by) {
            ASSERT_EQ(*epoch, had->second.epoch);
          } else {
            ASSERT_GT(*epoch, largest);
          }
          largest = std::max(largest, *epoch);
          naive[key] = {by, value, *epoch};
        }
      }
      const auto listed = sessions[dice.below(3)]->list("").value();
      std::vector<Entry> expected;
      for (const auto& [each, entry] : naive) expected.push_back({each, entry.value, entry.epoch});
      ASSERT_EQ(listed, expected);
    }
  });
}

/// Takes a key again and again, and logs the epochs it got to its own file. A process that puts the key with
/// only_if_absent is its only owner until it removes the key.
int fight(const std::string& folder, PutMode mode, const std::string& log) {
  Side side("file://" + folder + "/shared");
  std::ofstream file(log);
  const std::string alone = folder + "/alone";
  for (int i = 0; i < 40; ++i) {
    const auto epoch = side.put("the/key", log, {.ttl = seconds(20), .mode = mode});
    if (!epoch && epoch.error().code != Errc::conflict) return 1;
    if (epoch) file << epoch->value << "\n";
    if (!epoch || mode == PutMode::over) continue;
    if (mkdir(alone.c_str(), 0700) != 0 || rmdir(alone.c_str()) != 0) return 2;
    if (!side.remove("the/key")) return 3;
  }
  return 0;
}

TEST(NamesOfProcesses, ConcurrentOwnersNeverShareAnEpoch) {
  for (const PutMode mode : {PutMode::over, PutMode::only_if_absent}) {
    const servers::TempDir folder;
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const std::string log = folder.path() + "/log" + std::to_string(i);
      children.push_back(servers::fork_child([&] { return fight(folder.path(), mode, log); }));
    }
    for (const pid_t child : children) EXPECT_EQ(servers::wait_for(child), 0);
    std::map<std::uint64_t, int> owners;
    std::size_t won = 0;
    for (int i = 0; i < 4; ++i) {
      std::ifstream file(folder.path() + "/log" + std::to_string(i));
      std::uint64_t last = 0;
      for (std::uint64_t epoch = 0; file >> epoch; ++won) {
        EXPECT_GE(epoch, last);
        last = epoch;
        const auto [owner, is_new] = owners.emplace(epoch, i);
        EXPECT_EQ(owner->second, i) << "two were given the epoch " << epoch;
      }
    }
    EXPECT_GT(won, 0);
  }
}

TEST(NamesOfProcesses, AKilledProcessLeavesNoNamesAndNoLocks) {
  const servers::TempDir folder;
  const std::string url = "file://" + folder.path() + "/shared";
  Side side(url);
  Dice dice(1);
  for (int round = 0; round < 4; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 2; ++i) {
      children.push_back(servers::fork_child([&] {
        Side owner(url);
        for (int n = 0; n < 100'000; ++n) {
          const auto put = owner.put("k/" + std::to_string(n % 5), std::string(100, 'v'), {.ttl = milliseconds(200)});
          if (!put) return 1;
        }
        return 0;
      }));
    }
    ASSERT_DONE(side.wait("k/4", seconds(60)));
    side.run_for(milliseconds(dice.between(1, 20)));
    for (const pid_t child : children) servers::kill_tree(child);
    ASSERT_DONE(side.put("k/own", "v", {.ttl = milliseconds(200)}));
    for (int n = 0; n < 5; ++n) {
      side.run_until(
          [&] { return side.put("k/" + std::to_string(n), "mine", {.mode = PutMode::only_if_absent}).has_value(); });
    }
    EXPECT_EQ(side.remove_subtree("k").value(), 6);
  }
  side.run_until([&] {
    static_cast<void>(side.list(""));
    const std::string names = folder.path() + "/shared/names/";
    return fs::is_empty(names + "values") && fs::is_empty(names + "new") &&
           std::distance(fs::directory_iterator(names + "alive"), {}) == 1;
  });
}

}  // namespace
}  // namespace cadre::names
