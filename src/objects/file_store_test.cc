#include "objects/file_store.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/seeds.h"
#include "loop/power_loss_for_tests.h"
#include "objects/tree_for_tests.h"
#include "tests/servers/scratch.h"
#include "tests/servers/small_disk.h"

namespace cadre::objects {
namespace {

using State = FileStore::State;
using testing::HasSubstr;

std::string hash_of(std::string_view content) { return sha256(as_bytes(content)); }

Result<State> put(FileStore& store, std::string_view content, std::size_t offset, std::size_t size) {
  return store.append(hash_of(content), {static_cast<std::int64_t>(content.size()), static_cast<std::int64_t>(offset),
                                         as_bytes(content.substr(offset, size))});
}

std::unique_ptr<FileStore> opened(const std::string& folder, std::int64_t bytes_max = 1 << 30) {
  return FileStore::open({folder, ByteSize{bytes_max}, ByteSize{1 << 20}}).value();
}

std::string all_of(FileStore& store, const std::string& content) {
  const Result<Bytes> bytes = store.read(hash_of(content), 0, content.size() + 1);
  return bytes ? std::string(as_text(*bytes)) : bytes.error().message;
}

TEST(FileStore, HoldsWhatWasPutWhateverTheOrderOfPartsAndRestarts) {
  FOR_SEEDS(60, [](Dice& dice) {
    const servers::TempDir folder;
    auto store = opened(folder.path());
    std::vector<std::string> contents;
    for (int i = 0; i < 4; ++i) contents.push_back(std::to_string(i) + random_content(dice, 5'000));
    std::vector<State> states(contents.size());
    for (int step = 0; step < 60; ++step) {
      const std::size_t which = dice.below(contents.size());
      const std::string& content = contents[which];
      State& state = states[which];
      if (dice.percent(5)) {
        store.reset();
        store = opened(folder.path());
      } else if (dice.percent(3)) {
        store->remove(hash_of(content));
        state = {};
      } else {
        const auto offset = dice.percent(70) ? static_cast<std::size_t>(state.have) : dice.below(content.size() + 1);
        const std::size_t size = dice.below(content.size() - offset + 1);
        const auto got = put(*store, content, offset, size);
        const auto from = static_cast<std::int64_t>(offset);
        const auto to = static_cast<std::int64_t>(offset + size);
        if (from == state.have && !state.complete) {
          state = {to, to == static_cast<std::int64_t>(content.size())};
        } else if (to > state.have) {
          ASSERT_FALSE(got.has_value());
          EXPECT_EQ(got.error().code, Errc::conflict);
          continue;
        }
        ASSERT_TRUE(got.has_value()) << got.error().message;
        EXPECT_EQ(*got, state);
      }
      ASSERT_EQ(store->have(hash_of(content)), state);
      ASSERT_EQ(all_of(*store, content) == content, state.complete);
    }
  });
}

TEST(FileStore, DropsContentWithAWrongHashAndAcceptsItAgain) {
  const servers::TempDir folder;
  const auto store = opened(folder.path());
  const std::string hash = hash_of("right");
  ASSERT_TRUE(store->append(hash, {5, 0, as_bytes("wro")}));
  const auto done = store->append(hash, {5, 3, as_bytes("ng")});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Errc::corrupt);
  EXPECT_EQ(store->have(hash), State{});
  EXPECT_EQ(store->size().value, 0);
  ASSERT_TRUE(store->append(hash, {500, 0, as_bytes("something much longer")}));
  EXPECT_EQ(put(*store, "right", 0, 5)->complete, true);
  EXPECT_EQ(all_of(*store, "right"), "right");
  EXPECT_TRUE(put(*store, "", 0, 0)->complete);
  EXPECT_EQ(store->append("../../etc/passwd", {1, 0, as_bytes("x")}).error().code, Errc::invalid);
  EXPECT_EQ(store->append(hash_of("x"), {1 << 21, 0, as_bytes("x")}).error().code, Errc::invalid);
  EXPECT_EQ(store->read(hash_of("x"), 0, 1).error().code, Errc::not_found);
  EXPECT_EQ(FileStore::open({folder.path()}).error().code, Errc::conflict);
}

/// Sends what a store does not have yet, as a client does: from the beginning again when it was refused.
bool sent_again(FileStore& store, const std::string& content) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto have = static_cast<std::size_t>(store.have(hash_of(content)).have);
    const auto done = put(store, content, std::min(have, content.size()), content.size());
    if (done && done->complete) return true;
  }
  return false;
}

TEST(FileStore, WhatIsCompleteSurvivesAPowerLossAndTheRestCanBeSentAgain) {
  const servers::TempDir folder;
  const std::string whole(3'000, 'w'), begun(2'000, 'b');
  loop::PowerLoss loss(folder.path());
  auto store = opened(folder.path());
  ASSERT_TRUE(put(*store, whole, 0, 1'000));
  ASSERT_TRUE(put(*store, whole, 1'000, 2'000)->complete);
  const std::size_t complete = loss.operations();
  ASSERT_TRUE(put(*store, begun, 0, 1'500));
  store.reset();
  int torn = 0;
  const int states = loss.each([&](const std::string& left, std::size_t done) {
    SCOPED_TRACE("after " + std::to_string(done) + " operations");
    const auto reopened = opened(left);
    EXPECT_TRUE(done < complete || reopened->have(hash_of(whole)).complete);
    for (const std::string& content : {whole, begun}) {
      const State there = reopened->have(hash_of(content));
      EXPECT_EQ(all_of(*reopened, content) == content, there.complete) << "what counts as complete is not right";
      torn += there.have > 0 && there.have < 3'000 && !there.complete ? 1 : 0;
      ASSERT_TRUE(sent_again(*reopened, content));
      ASSERT_EQ(all_of(*reopened, content), content);
    }
  });
  EXPECT_GT(states, 20);
  EXPECT_GT(torn, 0) << "else this test could find nothing";
}

TEST(FileStore, WhatHadAnotherHashIsNeverCompleteAfterAPowerLoss) {
  const servers::TempDir folder;
  const std::string hash = hash_of("right");
  loop::PowerLoss loss(folder.path());
  auto store = opened(folder.path());
  ASSERT_EQ(store->append(hash, {5, 0, as_bytes("wrong")}).error().code, Errc::corrupt);
  ASSERT_TRUE(put(*store, "right", 0, 5)->complete);
  store.reset();
  int complete = 0;
  loss.each([&](const std::string& left, std::size_t done) {
    SCOPED_TRACE("after " + std::to_string(done) + " operations");
    const auto reopened = opened(left);
    complete += reopened->have(hash).complete ? 1 : 0;
    EXPECT_EQ(all_of(*reopened, "right") == "right", reopened->have(hash).complete);
    EXPECT_TRUE(done < loss.operations() || reopened->have(hash).complete);
    EXPECT_TRUE(sent_again(*reopened, "right"));
  });
  EXPECT_GT(complete, 1);
}

TEST(FileStore, EvictsTheLeastRecentlyUsedObjectThatIsNotKept) {
  const servers::TempDir folder;
  auto store = opened(folder.path(), 3 * 4'096);
  const auto content = [](int i) { return std::to_string(i) + std::string(999, 'x'); };
  const auto has = [&](int i) { return store->have(hash_of(content(i))).complete; };
  const auto put_all = [&](int i) { return put(*store, content(i), 0, 1'000).has_value(); };
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(put_all(i));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the times of files are as fine as the system's tick
  }
  ASSERT_TRUE(store->path(hash_of(content(0))));
  store.reset();
  store = opened(folder.path(), 3 * 4'096);
  ASSERT_TRUE(put_all(3));
  EXPECT_TRUE(has(0) && !has(1) && has(2) && has(3));
  store->keep(hash_of(content(2)));
  store->keep(hash_of(content(0)));
  store->keep(hash_of(content(0)));
  store->release(hash_of(content(0)));
  ASSERT_TRUE(put_all(4));
  EXPECT_TRUE(has(0) && has(2) && !has(3) && has(4));
  store->keep(hash_of(content(4)));
  EXPECT_EQ(put(*store, content(5), 0, 1'000).error().code, Errc::unavailable);
  store->release(hash_of(content(0)));
  ASSERT_TRUE(put_all(5));
  EXPECT_FALSE(has(0));
  EXPECT_EQ(store->size().value, 3 * 4'096);
}

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(FileStore, OfManyObjectsThatAreNeverFinishedOnlyTheNewestStay) {
  const servers::TempDir folder;
  auto store = FileStore::open({folder.path(), ByteSize{1 << 30}, ByteSize{1 << 20}, 10}).value();
  const auto content = [](int i) { return std::to_string(i) + std::string(999, 'x'); };
  const auto begin = [&](int i) { return put(*store, content(i), 0, 1); };
  store->keep(hash_of(content(0)));
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(begin(i));
    ASSERT_TRUE(put(*store, content(0), static_cast<std::size_t>(i + 1), 1)) << "one that goes on stays";
  }
  EXPECT_EQ(files_in(folder.path()), 11U) << "and the lock";
  EXPECT_EQ(store->size().value, 10 * 4'096);
  EXPECT_EQ(store->have(hash_of(content(49))).have, 1);
  EXPECT_EQ(store->have(hash_of(content(10))).have, 0);
  EXPECT_TRUE(put(*store, content(0), 51, 949)->complete);
  EXPECT_TRUE(put(*store, content(48), 1, 1'000)->complete);

  for (int i = 100; i < 110; ++i) ASSERT_TRUE(begin(i));
  store.reset();
  store = FileStore::open({folder.path(), ByteSize{1 << 30}, ByteSize{1 << 20}, 10}).value();
  EXPECT_TRUE(begin(110));
  EXPECT_EQ(files_in(folder.path()), 13U);
}

TEST(FileStore, KeepsOnlyWhatIsCompleteFromGoing) {
  const servers::TempDir folder;
  const auto store = FileStore::open({folder.path(), ByteSize{12 * 4'096}, ByteSize{1 << 20}, 10}).value();
  const auto content = [](int i) { return std::to_string(100 + i) + std::string(8'997, 'x'); };
  const auto state = [&](int i) { return store->have(hash_of(content(i))); };
  for (int i = 0; i <= 10; ++i) store->keep(hash_of(content(i)));
  ASSERT_TRUE(put(*store, content(0), 0, 9'000)->complete);
  for (int i = 1; i <= 9; ++i) ASSERT_TRUE(put(*store, content(i), 0, 1));
  ASSERT_TRUE(put(*store, content(10), 0, 4'000)) << "needs the block of a part that is kept";
  EXPECT_TRUE(state(0).complete);
  EXPECT_EQ(state(1).have, 0);
  EXPECT_EQ(state(2).have, 1);
  ASSERT_TRUE(put(*store, content(10), 4'000, 5'000)->complete);
  EXPECT_EQ(state(3).have, 0);
  EXPECT_EQ(state(4).have, 1);
  EXPECT_EQ(put(*store, content(1), 1, 1).error().code, Errc::conflict) << "it has to begin again";
  for (int i = 20; i < 50; ++i) ASSERT_TRUE(put(*store, content(i), 0, 1)) << i;
  EXPECT_TRUE(state(0).complete && state(10).complete);
}

TEST(FileStore, PartsThatAreKeptGiveWayToNewOnes) {
  const servers::TempDir folder;
  const auto store = FileStore::open({folder.path(), ByteSize{1 << 30}, ByteSize{1 << 20}, 10}).value();
  const auto content = [](int i) { return std::to_string(i) + std::string(999, 'x'); };
  for (int i = 0; i < 10; ++i) {
    store->keep(hash_of(content(i)));
    ASSERT_TRUE(put(*store, content(i), 0, 1));
  }
  ASSERT_TRUE(put(*store, content(0), 1, 1));
  const auto other = put(*store, content(10), 0, 1);
  ASSERT_TRUE(other.has_value()) << other.error().message;
  EXPECT_EQ(store->have(hash_of(content(0))).have, 2);
  EXPECT_EQ(store->have(hash_of(content(1))).have, 0) << "was written to least recently";
  EXPECT_EQ(put(*store, content(1), 1, 1).error().code, Errc::conflict);
  EXPECT_TRUE(put(*store, content(1), 0, 1'000)->complete);
  EXPECT_EQ(files_in(folder.path()), 11U) << "9 parts, 1 object and the lock";
}

TEST(FileStore, ManyUnfinishedUploadsOfAUserEvictOnlyTheirOwn) {
  FOR_SEEDS(20, [](Dice& dice) {
    const servers::TempDir folder;
    const auto store = FileStore::open({folder.path(), ByteSize{1 << 30}, ByteSize{1 << 20}, 10}).value();
    const auto send = [&](const std::string& content, std::size_t offset, std::string_view user) {
      return store->append(hash_of(content),
                           {static_cast<std::int64_t>(content.size()), static_cast<std::int64_t>(offset),
                            as_bytes(content).subspan(offset, 1), user});
    };
    int flooded = 0;
    const auto flood = [&](std::size_t count) {
      while (count-- > 0) ASSERT_TRUE(send(std::to_string(flooded++) + " of many", 0, "flood"));
    };
    flood(dice.below(30));
    for (std::size_t offset = 0; offset < 6; ++offset) {
      for (const std::string user : {"ann", "bob", "cid"}) {
        const auto sent = send(user + "'s code", offset, user);
        ASSERT_TRUE(sent.has_value()) << sent.error().message;
        EXPECT_EQ(sent->have, static_cast<std::int64_t>(offset + 1));
        flood(dice.below(30));
      }
    }
    flood(7);
    EXPECT_EQ(files_in(folder.path()), 11U) << "and the lock";
  });
}

TEST(FileStore, APartWithoutAByteForAnHourGoesWhenAnotherBegins) {
  const servers::TempDir folder;
  const auto store = opened(folder.path());
  const std::string old = "an old one";
  store->keep(hash_of(old));
  ASSERT_TRUE(put(*store, old, 0, 1));
  std::filesystem::last_write_time(folder.path() + "/" + hash_of(old) + ".part",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::minutes(61));
  const std::string young = "a young one";
  ASSERT_TRUE(put(*store, young, 0, 1));
  EXPECT_EQ(store->have(hash_of(old)).have, 0);
  EXPECT_EQ(store->have(hash_of(young)).have, 1);
  EXPECT_EQ(files_in(folder.path()), 2U) << "and the lock";
}

/// Puts object after object, and says on the pipe which one is complete.
[[noreturn]] void put_for_ever(const std::string& folder, int pipe) {
  const auto store = opened(folder);
  for (int i = 0;; ++i) {
    const std::string content = std::to_string(i) + std::string(static_cast<std::size_t>(1 + i * 7'919 % 50'000), 'x');
    for (std::size_t at = 0; at < content.size(); at += 7'000) static_cast<void>(put(*store, content, at, 7'000));
    if (!store->have(hash_of(content)).complete || write(pipe, &i, sizeof(i)) != sizeof(i)) _exit(1);
  }
}

TEST(FileStore, NothingThatWasCompleteIsLostWhenTheProcessIsKilled) {
  FOR_SEEDS(15, [](Dice& dice) {
    const servers::TempDir folder;
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    const pid_t child = fork();
    if (child == 0) put_for_ever(folder.path(), pipes[1]);
    std::this_thread::sleep_for(std::chrono::milliseconds(dice.between(5, 80)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(pipes[1]);
    int count = 0;
    for (int i = 0; read(pipes[0], &i, sizeof(i)) == sizeof(i);) count = i + 1;
    close(pipes[0]);
    const auto store = opened(folder.path());
    for (int i = 0; i <= count; ++i) {
      const std::string content =
          std::to_string(i) + std::string(static_cast<std::size_t>(1 + i * 7'919 % 50'000), 'x');
      const State state = store->have(hash_of(content));
      if (i < count) {
        ASSERT_TRUE(state.complete);
      }
      if (!state.complete) {
        ASSERT_TRUE(put(*store, content, static_cast<std::size_t>(state.have), content.size())->complete);
      }
      ASSERT_EQ(all_of(*store, content), content);
    }
  });
}

TEST(FileStore, RefusesOnAFullDiskAndContinuesAfterwards) {
  WITH_OWN_MOUNTS();
  const servers::TempDir folder;
  servers::SmallDisk disk(folder.path(), 1 << 20);
  const auto store = opened(folder.path() + "/objects");
  const std::string first(700'000, 'a');
  const std::string second(700'000, 'b');
  ASSERT_TRUE(put(*store, first, 0, first.size())->complete);
  std::int64_t have = 0;
  Result<State> got;
  while ((got = put(*store, second, static_cast<std::size_t>(have), 50'000))) have = got->have;
  EXPECT_EQ(got.error().code, Errc::unavailable);
  EXPECT_THAT(got.error().message, HasSubstr("the disk is full"));
  EXPECT_EQ(store->have(hash_of(second)), (State{have, false}));
  disk.resize(4 << 20);
  EXPECT_TRUE(put(*store, second, static_cast<std::size_t>(have), second.size())->complete);
  EXPECT_EQ(all_of(*store, second), second);
  EXPECT_EQ(all_of(*store, first), first);
}

}  // namespace
}  // namespace cadre::objects
