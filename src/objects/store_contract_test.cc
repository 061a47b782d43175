// What every store promises, against real servers (WebHDFS: a stub).
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/seeds.h"
#include "objects/store_for_tests.h"
#include "objects/tree_for_tests.h"
#include "tests/servers/process.h"

namespace cadre::objects {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Folders and objects have different names. The characters before `.` are left out: the S3 server of the tests sorts
/// names of files, to which it appends `._S3rver_object`, instead of keys.
std::string random_key(Dice& dice) {
  static constexpr std::string_view folders[] = {"", "", "g", "fa/", "fa/fb/", "Ünter/"};
  static constexpr std::string_view names[] = {"a", "ab", "b", "B_1", "z~", "model=1", "日本"};
  const std::string_view folder = folders[dice.below(std::size(folders))];
  return std::string(folder) + std::string(names[dice.below(std::size(names))]);
}

std::string random_content_of(Dice& dice) {
  const int size = static_cast<int>(dice.below(100));
  if (size < 2) return random_bytes(dice, large - dice.below(2'000'000));
  if (size < 8) return random_bytes(dice, dice.below(2'500'000));
  return random_bytes(dice, dice.below(size < 20 ? 1 : 3'000));
}

using Model = std::map<std::string, std::string>;

void check_range(Store& store, Dice& dice, const std::string& key, const std::string& content) {
  const std::size_t offset = dice.below(content.size() + 1);
  const std::size_t size = dice.percent(20) ? content.size() + 1 : dice.below(content.size() + 1);
  std::string got;
  ASSERT_DONE(store.get_range(key, static_cast<std::int64_t>(offset), static_cast<std::int64_t>(size), into(got)));
  ASSERT_TRUE(got == content.substr(offset, size)) << key << " from " << offset << ", " << size << " bytes";
}

void check_list(Store& store, Dice& dice, const Model& model) {
  static constexpr std::string_view prefixes[] = {"", "f", "fa/", "fa/f", "B", "Ü", "none", "fa/fb/a"};
  const std::string prefix(prefixes[dice.below(std::size(prefixes))]);
  std::vector<std::string> expected;
  for (const auto& [key, content] : model) {
    if (key.starts_with(prefix)) expected.push_back(key);
  }
  ASSERT_EQ(keys_of(store, prefix, static_cast<std::int32_t>(1 + dice.below(8))), expected);
}

void check_put(Store& store, Dice& dice, Model& model, const std::string& key) {
  const auto there = model.find(key);
  const std::string content = there != model.end() && dice.percent(40) ? there->second : random_content_of(dice);
  const auto done = put(store, key, content);
  if (there == model.end() || there->second == content) {
    ASSERT_TRUE(done.has_value()) << done.error().message;
    model[key] = content;
  } else {
    EXPECT_ERROR(Errc::conflict, done);
  }
}

void check_step(Store& store, Dice& dice, Model& model) {
  const std::string key = random_key(dice);
  const auto there = model.find(key);
  switch (dice.below(8)) {
    case 0:
    case 1:
    case 2: check_put(store, dice, model, key); break;
    case 3: {
      const auto found = store.stat(key);
      ASSERT_EQ(found.has_value(), there != model.end()) << key;
      if (found) {
        ASSERT_EQ(*found, digest_of(there->second));
      }
      break;
    }
    case 4:
      ASSERT_TRUE(content_of(store, key) == (there == model.end() ? std::nullopt : std::optional(there->second)))
          << key;
      break;
    case 5:
      if (there != model.end()) check_range(store, dice, key, there->second);
      break;
    case 6: check_list(store, dice, model); break;
    default:
      if (dice.percent(10)) {
        const auto removed = remove_folder(store, "fa/");
        ASSERT_DONE(removed);
        EXPECT_EQ(*removed, std::erase_if(model, [](const auto& one) { return one.first.starts_with("fa/"); }));
      } else {
        ASSERT_DONE(store.remove(key));
        model.erase(key);
      }
  }
}

TEST_P(EveryStore, HoldsExactlyWhatWasPutAndNotRemoved) {
  Model model;
  FOR_SEEDS(8, [&](Dice& dice) {
    for (int step = 0; step < 40; ++step) ASSERT_NO_FATAL_FAILURE(check_step(store_, dice, model));
    const std::unique_ptr<Store> other = GetParam() == StoreKind::memory ? nullptr : place_.opened();
    Store& seen = other ? *other : store_;
    std::vector<std::string> keys;
    for (const auto& [key, content] : model) {
      keys.push_back(key);
      ASSERT_TRUE(content_of(seen, key) == content) << key;
    }
    ASSERT_EQ(keys_of(seen), keys);
  });
}

TEST_P(EveryStore, AnObjectWithTheSameContentIsLeftWithoutReadingTheSource) {
  ASSERT_DONE(put(store_, "a/b", "first"));
  CallSource unread([](auto) -> Result<std::size_t> { return fail(Errc::denied, "it was read"); });
  ASSERT_DONE(store_.put("a/b", digest_of("first"), unread));
  const auto other = put(store_, "a/b", "other");
  EXPECT_ERROR(Errc::conflict, other);
  EXPECT_THAT(other.error().message, AllOf(HasSubstr("a/b"), HasSubstr(digest_of("first").sha256)));
  EXPECT_EQ(content_of(store_, "a/b"), "first");
  ASSERT_DONE(store_.remove("a/b"));
  ASSERT_DONE(put(store_, "a/b", "other"));
  EXPECT_EQ(content_of(store_, "a/b"), "other");
}

TEST_P(EveryStore, EmptyAndLargeObjectsComeBackAsTheyWere) {
  Dice dice(1);
  const std::string content = random_bytes(dice, large);
  ASSERT_DONE(put(store_, "large", content));
  ASSERT_DONE(put(store_, "empty", ""));
  EXPECT_TRUE(content_of(store_, "large") == content);
  EXPECT_EQ(content_of(store_, "empty"), "");
  EXPECT_EQ(store_.stat("empty").value(), digest_of(""));
  for (const std::size_t border : {std::size_t{1} << 20, std::size_t{5} << 20}) {
    for (const std::size_t offset : {border - 1, border, border + 1}) {
      std::string got;
      ASSERT_DONE(store_.get_range("large", static_cast<std::int64_t>(offset), 2, into(got)));
      EXPECT_EQ(got, content.substr(offset, 2)) << offset;
    }
  }
  std::string end;
  ASSERT_DONE(store_.get_range("large", static_cast<std::int64_t>(large) - 3, 1'000, into(end)));
  EXPECT_EQ(end, content.substr(large - 3));
  std::string none;
  ASSERT_DONE(store_.get_range("large", static_cast<std::int64_t>(large), 1, into(none)));
  EXPECT_EQ(none, "");
  EXPECT_ERROR(Errc::invalid, store_.get_range("large", static_cast<std::int64_t>(large) + 1, 1, into(none)));
  EXPECT_ERROR(Errc::invalid, store_.get_range("large", -1, 1, into(none)));
}

TEST_P(EveryStore, ContentThatIsNotWhatWasAnnouncedIsNeverStored) {
  Dice dice(2);
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, large}) {
    SCOPED_TRACE(size);
    const std::string content = random_bytes(dice, size);
    const Digest digest = digest_of(content);
    const auto put_as = [&](std::string_view sent, const Digest& announced) {
      BytesSource source(as_bytes(sent));
      return store_.put("wrong", announced, source);
    };
    std::string other = content;
    if (size > 0) {
      other.back() = static_cast<char>(other.back() + 1);
      EXPECT_ERROR(Errc::corrupt, put_as(content.substr(1), digest));
    }
    EXPECT_ERROR(Errc::corrupt, put_as(content + "x", digest));
    EXPECT_ERROR(Errc::corrupt, put_as(content, {digest.size, sha256(as_bytes("another"))}));
    CallSource broken([&](std::span<std::byte> into) -> Result<std::size_t> {
      if (size == 0 || dice.percent(30)) return fail(Errc::denied, "the disk cannot be read");
      std::ranges::fill(into, std::byte{1});
      return into.size();
    });
    const auto stopped = store_.put("wrong", digest, broken);
    ASSERT_FALSE(stopped.has_value());
    EXPECT_THAT(stopped.error().message, AnyOf(HasSubstr("the disk cannot be read"), HasSubstr("is longer than")));
    EXPECT_EQ(content_of(store_, "wrong"), std::nullopt);
    EXPECT_THAT(keys_of(store_), IsEmpty());
    ASSERT_DONE(put_as(content, digest));
    ASSERT_DONE(store_.remove("wrong"));
  }
}

TEST_P(EveryStore, RefusesInvalidArgumentsInWords) {
  BytesSource source(as_bytes("x"));
  const Digest digest = digest_of("x");
  for (const std::string& key : std::vector<std::string>{"", "/a", "a/", "a//b", "..", "a/../b", "./a", "a\nb", "a\x7f",
                                                         "\xff", std::string(201, 'a'), "a/\xef\xbf\xbf"}) {
    EXPECT_ERROR(Errc::invalid, store_.put(key, digest, source));
    EXPECT_ERROR(Errc::invalid, store_.stat(key));
    EXPECT_ERROR(Errc::invalid, store_.remove(key));
    std::string got;
    EXPECT_ERROR(Errc::invalid, store_.get(key, into(got)));
  }
  EXPECT_ERROR(Errc::invalid, store_.put("a", {-1, digest.sha256}, source));
  EXPECT_ERROR(Errc::invalid, store_.put("a", {1, "no hash"}, source));
  EXPECT_ERROR(Errc::invalid, store_.list("../"));
  EXPECT_ERROR(Errc::invalid, store_.list("", "", 0));
  EXPECT_ERROR(Errc::invalid, store_.list("", "", Store::page_max + 1));
  EXPECT_ERROR(Errc::invalid, store_.list("", std::string(2'000, 'a')));
  EXPECT_ERROR(Errc::invalid, remove_folder(store_, "a"));
  EXPECT_ERROR(Errc::not_found, store_.stat("a"));
  ASSERT_DONE(store_.remove("a"));
}

TEST_P(EveryStore, ASinkThatFailsEndsTheReadingOnly) {
  Dice dice(3);
  const std::string content = random_bytes(dice, large);
  ASSERT_DONE(put(store_, "a", content));
  std::size_t taken = 0;
  const auto stopped = store_.get("a", [&](BytesView piece) -> Result<void> {
    if (taken > 100'000) return fail(Errc::unavailable, "my disk is full");
    taken += piece.size();
    return {};
  });
  // Memory gives it in one piece, which this sink still takes.
  if (GetParam() != StoreKind::memory) {
    EXPECT_ERROR(Errc::unavailable, stopped);
    EXPECT_EQ(stopped.error().message, "my disk is full");
  }
  EXPECT_TRUE(content_of(store_, "a") == content);
}

TEST_P(EveryStore, OfTwoWritersOfOneKeyOneWinsAndTheOtherFailsWithAConflict) {
  Dice dice(4);
  for (int round = 0; round < 6; ++round) {
    const std::string key = "raced/" + std::to_string(round);
    const std::size_t size = round % 3 == 0 ? large : 50'000;
    const std::vector<std::string> contents{random_bytes(dice, size), random_bytes(dice, size)};
    std::vector<Result<void>> done(2);
    {
      std::vector<std::jthread> writers;
      for (std::size_t i = 0; i < 2; ++i) writers.emplace_back([&, i] { done[i] = put(store_, key, contents[i]); });
    }
    int won = 0;
    for (const Result<void>& one : done) {
      won += one ? 1 : 0;
      if (!one) {
        EXPECT_EQ(one.error().code, Errc::conflict) << one.error().message;
      }
    }
    // The S3 server of the tests writes into the file of the object, and does not know If-None-Match.
    if (GetParam() == StoreKind::s3) continue;
    ASSERT_EQ(won, 1);
    EXPECT_TRUE(content_of(store_, key) == contents[done[0] ? 0 : 1]);
    ASSERT_DONE(put(store_, key, contents[done[0] ? 0 : 1]));
  }
}

TEST_P(EveryStore, WritersOfTheSameContentAllSucceed) {
  Dice dice(5);
  const std::string content = random_bytes(dice, 300'000);
  std::atomic<int> done = 0;
  {
    std::vector<std::jthread> writers;
    for (int i = 0; i < 4; ++i) {
      writers.emplace_back([&] { done += put(store_, "a/b/c", content).has_value() ? 1 : 0; });
    }
  }
  EXPECT_EQ(done, 4);
  EXPECT_TRUE(content_of(store_, "a/b/c") == content);
  EXPECT_THAT(keys_of(store_), ElementsAre("a/b/c"));
}

TEST_P(EveryStore, ManyThreadsUseItAtATime) {
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) {  // more than it has sessions
      threads.emplace_back([&, i] {
        Dice dice(static_cast<std::uint64_t>(100 + i));
        const std::string folder = "t" + std::to_string(i) + "/";
        const std::string content = random_bytes(dice, 20'000);
        bool is_right = put(store_, folder + "x", content).has_value() && put(store_, folder + "y", "").has_value();
        is_right = is_right && content_of(store_, folder + "x") == content;
        is_right = is_right && keys_of(store_, folder) == std::vector{folder + "x", folder + "y"};
        is_right = is_right && store_.remove(folder + "x") && !store_.stat(folder + "x");
        wrong += is_right ? 0 : 1;
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(keys_of(store_).size(), 20U);
}

/// Gives a part of the content, tells so, and waits for its end.
class StoppingSource final : public ByteSource {
 public:
  StoppingSource(std::size_t most, int pipe) : left_(most), pipe_(pipe) {}
  Result<std::size_t> read(std::span<std::byte> into) override {
    if (left_ < into.size()) {
      static_cast<void>(!write(pipe_, "x", 1));
      while (true) pause();
    }
    left_ -= into.size();
    return into.size();
  }

 private:
  std::size_t left_;
  const int pipe_;
};

TEST_P(EveryStore, OfAnUploadWhoseProcessIsKilledNothingIsSeen) {
  if (GetParam() == StoreKind::memory) return;  // it ends with the process
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  const pid_t child = servers::fork_child([&] {
    const std::unique_ptr<Store> store = place_.opened();
    StoppingSource source(7 << 20, pipes[1]);
    return store->put("dir/cut", {static_cast<std::int64_t>(large), sha256(as_bytes("x"))}, source) ? 1 : 0;
  });
  char told = 0;
  ASSERT_EQ(read(pipes[0], &told, 1), 1);
  EXPECT_THAT(keys_of(store_), IsEmpty()) << "while it is uploaded";
  servers::kill_tree(child);
  close(pipes[0]);
  close(pipes[1]);
  EXPECT_THAT(keys_of(store_), IsEmpty());
  EXPECT_ERROR(Errc::not_found, store_.stat("dir/cut"));
  ASSERT_DONE(put(store_, "dir/cut", "now"));
  EXPECT_EQ(content_of(store_, "dir/cut"), "now");
}

TEST_P(EveryStore, StoresFilesAndWritesThemOnlyWhenTheyAreRight) {
  const servers::TempDir folder;
  Dice dice(6);
  const std::string content = random_bytes(dice, 700'000);
  write_file(folder.path() + "/model.bin", content);
  const auto stored = put_file(store_, "checkpoints/1/model.bin", folder.path() + "/model.bin");
  ASSERT_DONE(stored);
  EXPECT_EQ(*stored, digest_of(content));
  const std::string back = folder.path() + "/back.bin";
  write_file(back, "what was there");
  EXPECT_ERROR(Errc::not_found, get_file(store_, "checkpoints/2/model.bin", back));
  EXPECT_EQ(read_whole(back), "what was there");
  ASSERT_DONE(get_file(store_, "checkpoints/1/model.bin", back));
  EXPECT_TRUE(read_whole(back) == content);
  EXPECT_EQ(shown_tree(folder.path()).size(), 2U) << "and no PATH.part";
  EXPECT_ERROR(Errc::not_found, put_file(store_, "a", folder.path() + "/nothing"));
  EXPECT_ERROR(Errc::invalid, put_file(store_, "a", "/dev/null"));
}

TEST_P(EveryStore, AnObjectIsNeverAFolderOfOthersWithoutAnErrorOrBothBeingThere) {
  ASSERT_DONE(put(store_, "a", "object"));
  const auto below = put(store_, "a/b", "below");
  if (!below) {
    EXPECT_EQ(below.error().code, Errc::conflict) << below.error().message;
  }
  ASSERT_DONE(put(store_, "c/d", "below"));
  const auto above = put(store_, "c", "object");
  if (!above) {
    EXPECT_EQ(above.error().code, Errc::conflict) << above.error().message;
  }
  EXPECT_EQ(content_of(store_, "a"), "object");
  EXPECT_EQ(content_of(store_, "c/d"), "below");
  EXPECT_EQ(content_of(store_, "a/b"), below ? std::optional("below") : std::nullopt);
  EXPECT_EQ(content_of(store_, "c"), above ? std::optional("object") : std::nullopt);
  ASSERT_DONE(store_.remove("c"));
  EXPECT_EQ(content_of(store_, "c/d"), "below") << "only the object is removed";
}

INSTANTIATE_FOR_EVERY_STORE(EveryStore);

}  // namespace
}  // namespace cadre::objects
