// What every backend of names promises.
#include <atomic>
#include <set>

#include "names/backend_test.h"

namespace cadre::names {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> keys_of(const std::vector<Entry>& entries) {
  std::vector<std::string> keys;
  for (const Entry& entry : entries) keys.push_back(entry.key);
  return keys;
}

TEST_P(EveryBackend, GivesWhatWasPut) {
  Side side(place_.url());
  const Epoch epoch = side.put("e/t/worker/0", "tcp://host:1").value();
  EXPECT_EQ(side.get("e/t/worker/0").value(), (Entry{"e/t/worker/0", "tcp://host:1", epoch}));
  EXPECT_ERROR(Errc::not_found, side.get("e/t/worker/1"));
  EXPECT_ERROR(Errc::not_found, side.get("e/t/worker"));
  Side other(place_.url());
  EXPECT_EQ(other.get("e/t/worker/0").value().epoch, epoch);
}

TEST_P(EveryBackend, AnyBytesAreAValueUpToTheBound) {
  Side side(place_.url());
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const std::string largest(value_bytes_max, '\n');
  for (const std::string& value : {std::string(), all, largest}) {
    ASSERT_DONE(side.put("a", value));
    EXPECT_EQ(side.get("a").value().value, value);
  }
  const auto too_large = side.put("a", largest + "x");
  EXPECT_ERROR(Errc::invalid, too_large);
  EXPECT_THAT(too_large.error().message, HasSubstr("65536"));
  EXPECT_EQ(side.get("a").value().value, largest);
}

TEST_P(EveryBackend, BadKeysAreRefusedWithTheReason) {
  Side side(place_.url());
  for (const std::string key : {"", "/", "a/", "/a", "a//b", ".", "a/..", "a b", "ä", "a,b", "a*"}) {
    EXPECT_ERROR(Errc::invalid, side.put(key, "v"));
    EXPECT_ERROR(Errc::invalid, side.get(key));
    EXPECT_ERROR(Errc::invalid, side.remove(key));
    if (!key.empty()) EXPECT_ERROR(Errc::invalid, side.list(key));
  }
  EXPECT_ERROR(Errc::invalid, side.put(std::string(key_bytes_max + 1, 'a'), "v"));
  EXPECT_ERROR(Errc::invalid, side.put("a", "v", {.ttl = milliseconds(1)}));
  const std::string longest(key_bytes_max, 'a');
  ASSERT_DONE(side.put(longest, "v"));
  EXPECT_EQ(side.get(longest).value().value, "v");
  ASSERT_DONE(side.put("...", "dots"));
  ASSERT_DONE(side.put("Az09._-:@+=/x", "all"));
  EXPECT_EQ(side.get("Az09._-:@+=/x").value().value, "all");
}

TEST_P(EveryBackend, ListsWholePartsInOrder) {
  Side side(place_.url());
  for (const char* key : {"a/b/c", "a/b", "a/b-c", "a/bc", "a", "b"}) ASSERT_DONE(side.put(key, key));
  EXPECT_THAT(keys_of(side.list("a/b").value()), ElementsAre("a/b", "a/b/c"));
  EXPECT_THAT(keys_of(side.list("a").value()), ElementsAre("a", "a/b", "a/b-c", "a/b/c", "a/bc"));
  EXPECT_THAT(keys_of(side.list("").value()), ElementsAre("a", "a/b", "a/b-c", "a/b/c", "a/bc", "b"));
  EXPECT_THAT(side.list("c").value(), IsEmpty());
}

TEST_P(EveryBackend, RemovesOneAndASubtree) {
  Side side(place_.url());
  Side other(place_.url());
  for (const char* key : {"a/b/c", "a/b", "a/bc", "a"}) ASSERT_DONE(side.put(key, key));
  ASSERT_DONE(side.remove("a"));
  EXPECT_ERROR(Errc::not_found, side.remove("a"));
  EXPECT_ERROR(Errc::not_found, side.get("a"));
  EXPECT_EQ(other.remove_subtree("a/b").value(), 2);
  EXPECT_EQ(other.remove_subtree("a/b").value(), 0);
  EXPECT_THAT(keys_of(side.list("").value()), ElementsAre("a/bc"));
}

TEST_P(EveryBackend, EpochsGrowWithOwnersAndStayWithOne) {
  Side first(place_.url());
  Side second(place_.url());
  const Epoch one = first.put("a", "1").value();
  EXPECT_EQ(first.put("a", "2").value(), one);
  EXPECT_EQ(second.get("a").value(), (Entry{"a", "2", one}));
  const Epoch two = second.put("a", "3").value();
  EXPECT_GT(two, one);
  EXPECT_EQ(first.get("a").value(), (Entry{"a", "3", two}));
  const Epoch three = first.put("a", "4").value();
  EXPECT_GT(three, two);
  ASSERT_DONE(first.remove("a"));
  EXPECT_GT(second.put("a", "5", {.mode = PutMode::only_if_absent}).value(), three);
}

TEST_P(EveryBackend, NotifiesAnOwnerOfALostEntryWhichStaysLost) {
  Side first(place_.url());
  Side second(place_.url());
  std::vector<std::string> lost;
  first.names->on_lost([&](const std::string& key) { lost.push_back(key); });
  ASSERT_DONE(first.put("a/taken", "old", {.ttl = milliseconds(300)}));
  ASSERT_DONE(first.put("a/removed", "old", {.ttl = milliseconds(300)}));
  ASSERT_DONE(first.put("a/kept", "old"));
  ASSERT_DONE(second.put("a/taken", "new"));
  ASSERT_DONE(second.remove("a/removed"));
  first.run_until([&] { return lost.size() == 2; });
  std::sort(lost.begin(), lost.end());
  EXPECT_THAT(lost, ElementsAre("a/removed", "a/taken"));
  EXPECT_EQ(second.get("a/taken").value().value, "new");
  EXPECT_ERROR(Errc::not_found, second.get("a/removed"));
  EXPECT_EQ(second.get("a/kept").value().value, "old");
}

TEST_P(EveryBackend, OnlyOneOfManyGetsWhatIsAbsent) {
  std::vector<std::unique_ptr<Side>> sides;
  for (int i = 0; i < 6; ++i) sides.push_back(std::make_unique<Side>(place_.url()));
  for (int round = 0; round < 10; ++round) {
    const std::string key = "election/" + std::to_string(round);
    std::vector<std::thread> threads;
    std::vector<int> wins(sides.size());
    std::vector<int> conflicts(sides.size());
    for (std::size_t i = 0; i < sides.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto won = sides[i]->put(key, std::to_string(i), {.mode = PutMode::only_if_absent});
        (won ? wins : conflicts)[i] = 1;
        EXPECT_TRUE(won || won.error().code == Errc::conflict) << (won ? "" : won.error().message);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(std::count(wins.begin(), wins.end(), 1), 1);
    const auto winner = std::find(wins.begin(), wins.end(), 1) - wins.begin();
    EXPECT_EQ(sides[0]->get(key).value().value, std::to_string(winner));
    EXPECT_ERROR(Errc::conflict,
                 sides[static_cast<std::size_t>(winner)]->put(key, "again", {.mode = PutMode::only_if_absent}));
  }
}

TEST_P(EveryBackend, ExpiredNamesDisappearForAllClients) {
  Side alive(place_.url());
  Side stopped(place_.url());  // its loop runs no more after this
  const Epoch old = stopped.put("a/left", "v", {.ttl = milliseconds(200)}).value();
  ASSERT_DONE(alive.put("a/kept", "v"));
  alive.run_until([&] { return !alive.get("a/left").has_value(); });
  EXPECT_EQ(alive.get("a/left").error().code, Errc::not_found);
  EXPECT_THAT(keys_of(alive.list("a").value()), ElementsAre("a/kept"));
  Side late(place_.url());
  EXPECT_THAT(keys_of(late.list("").value()), ElementsAre("a/kept"));
  EXPECT_GT(late.put("a/left", "mine", {.mode = PutMode::only_if_absent}).value(), old);
}

TEST_P(EveryBackend, RestoresEntriesOfASuspendedOwnerUnlessTaken) {
  Side alive(place_.url());
  Side stopped(place_.url());
  std::vector<std::string> lost;
  stopped.names->on_lost([&](const std::string& key) { lost.push_back(key); });
  ASSERT_DONE(stopped.put("a/free", "v", {.ttl = milliseconds(200)}));
  ASSERT_DONE(stopped.put("a/taken", "v", {.ttl = milliseconds(200)}));
  alive.run_until([&] { return alive.list("a").value().empty(); });
  ASSERT_DONE(alive.put("a/taken", "new"));
  std::string free;
  stopped.run_until([&] {
    if (const auto entry = alive.get("a/free")) free = entry->value;
    return lost.size() == 1 && !free.empty();
  });
  EXPECT_THAT(lost, ElementsAre("a/taken"));
  EXPECT_EQ(free, "v");
  EXPECT_EQ(alive.get("a/taken").value().value, "new");
}

TEST_P(EveryBackend, ASessionThatEndsLeavesNothing) {
  Side stays(place_.url());
  ASSERT_DONE(stays.put("a/own", "v"));
  {
    Side ends(place_.url());
    for (int i = 0; i < 20; ++i) ASSERT_DONE(ends.put("a/" + std::to_string(i), "v", {.ttl = std::chrono::hours(1)}));
    ASSERT_DONE(ends.put("a/taken", "v", {.ttl = std::chrono::hours(1)}));
    ASSERT_DONE(stays.put("a/taken", "mine"));
    ends.names.reset();
    ends.run_until([&] { return stays.list("a").value().size() == 2; });
  }
  EXPECT_THAT(keys_of(stays.list("").value()), ElementsAre("a/own", "a/taken"));
}

TEST_P(EveryBackend, WaitsForANameUntilItsDeadline) {
  Side waits(place_.url());
  Side puts(place_.url());
  const auto late = waits.wait("a/b", milliseconds(30));
  EXPECT_ERROR(Errc::timed_out, late);
  EXPECT_THAT(late.error().message, HasSubstr("a/b"));
  ASSERT_DONE(puts.put("a/b/c", "below"));
  EXPECT_ERROR(Errc::timed_out, waits.wait("a/b", milliseconds(30)));
  std::thread thread([&] {
    puts.run_for(milliseconds(50));
    ASSERT_DONE(puts.put("a/b", "v"));
  });
  EXPECT_EQ(waits.wait("a/b", seconds(60)).value().value, "v");
  thread.join();
  EXPECT_EQ(waits.wait("a/b", Duration::zero()).value().value, "v") << "what is there is there at once";
}

TEST_P(EveryBackend, AWatchGetsEachChangeOnceAndInOrder) {
  Side watches(place_.url());
  Side puts(place_.url());
  ASSERT_DONE(puts.put("a/there", "1"));
  ASSERT_DONE(puts.put("other", "1"));
  std::vector<std::string> told;
  const Watch watch = watches.names->watch("a", [&](const Change& change) { told.push_back(shown(change)); }).value();
  std::vector<std::string> expected;
  const auto expect = [&](const std::string& line) {
    expected.push_back(line);
    watches.run_until([&] { return told.size() >= expected.size(); });
    ASSERT_EQ(told, expected);
  };
  expect("a/there=1");
  ASSERT_DONE(puts.put("a/there", "1"));  // no change
  for (int i = 0; i < 5; ++i) {
    ASSERT_DONE(puts.put("a/new", std::to_string(i)));
    ASSERT_DONE(puts.put("other", std::to_string(i)));
    expect("a/new=" + std::to_string(i));
  }
  ASSERT_DONE(puts.remove("a/new"));
  expect("a/new gone");
  ASSERT_DONE(watches.put("a", "own"));
  expect("a=own");
  EXPECT_EQ(watches.remove_subtree("a/there").value(), 1);
  expect("a/there gone");
}

TEST_P(EveryBackend, AWatchHearsWhenAnEntryRunsOut) {
  Side watches(place_.url());
  Side stopped(place_.url());
  std::vector<std::string> told;
  const Watch watch = watches.names->watch("", [&](const Change& change) { told.push_back(shown(change)); }).value();
  ASSERT_DONE(stopped.put("a", "v", {.ttl = milliseconds(200)}));
  watches.run_until([&] { return told.size() == 2; });
  EXPECT_THAT(told, ElementsAre("a=v", "a gone"));
}

TEST_P(EveryBackend, AWatchAlwaysGetsTheFinalState) {
  Side watches(place_.url());
  Side puts(place_.url());
  std::map<std::string, std::string> told;
  std::map<std::string, std::vector<Entry>> each;
  const Watch watch = watches.names
                          ->watch("",
                                  [&](const Change& change) {
                                    if (change.kind == Change::Kind::gone) {
                                      told.erase(change.entry.key);
                                    } else {
                                      told[change.entry.key] = change.entry.value;
                                      each[change.entry.key].push_back(change.entry);
                                    }
                                  })
                          .value();
  std::thread thread([&] {
    for (int i = 0; i < 60; ++i) {
      ASSERT_DONE(puts.put("k/" + std::to_string(i % 7), std::to_string(i)));
      if (i % 11 == 0) ASSERT_DONE(puts.remove("k/" + std::to_string(i % 7)));
    }
    ASSERT_DONE(puts.put("end", "end"));
  });
  watches.run_until([&] { return told.contains("end"); });
  thread.join();
  std::map<std::string, std::string> there;
  const std::vector<Entry> entries_there = watches.list("").value();
  for (const Entry& entry : entries_there) there[entry.key] = entry.value;
  watches.run_until([&] { return told == there; });
  for (const auto& [key, entries] : each) {
    for (std::size_t i = 1; i < entries.size() && key != "end"; ++i) {
      EXPECT_LT(std::stoi(entries[i - 1].value), std::stoi(entries[i].value)) << key;
      EXPECT_LE(entries[i - 1].epoch, entries[i].epoch) << key;
    }
  }
}

TEST_P(EveryBackend, AHandlerMayEndItsWatch) {
  Side side(place_.url());
  int told = 0;
  Watch watch;
  watch = side.names
              ->watch("",
                      [&](const Change&) {
                        ++told;
                        watch = Watch();
                      })
              .value();
  ASSERT_DONE(side.put("a", "v"));
  ASSERT_DONE(side.put("b", "v"));
  side.run_until([&] { return told > 0; });
  ASSERT_DONE(side.put("c", "v"));
  side.run_for(milliseconds(20));
  EXPECT_EQ(told, 1);
  const Watch ended_late = side.names->watch("", [&](const Change&) { ++told; }).value();
  side.names.reset();
  EXPECT_EQ(told, 1);
}

TEST_P(EveryBackend, AThousandEntriesLiveAndAreListed) {
  Side side(place_.url());
  Side other(place_.url());
  for (int i = 0; i < 1'000; ++i) ASSERT_DONE(side.put("many/" + std::to_string(i), "v", {.ttl = seconds(3)}));
  std::atomic<bool> is_enough = false;
  std::thread keeps_them_alive([&] {
    while (!is_enough) side.run_for(milliseconds(10));
  });
  std::set<std::string> told;
  std::vector<std::string> gone;
  Watch watch = other.names
                    ->watch("many",
                            [&](const Change& change) {
                              told.insert(change.entry.key);
                              if (change.kind == Change::Kind::gone) gone.push_back(change.entry.key);
                            })
                    .value();
  other.run_until([&] { return told.size() == 1'000; });
  other.run_for(seconds(4));  // more than a TTL
  EXPECT_THAT(gone, IsEmpty());
  watch = Watch();
  EXPECT_EQ(other.list("many").value().size(), 1'000);
  EXPECT_EQ(other.remove_subtree("many").value(), 1'000);
  is_enough = true;
  keeps_them_alive.join();
  EXPECT_THAT(side.list("").value(), IsEmpty());
}

INSTANTIATE_FOR_EVERY_BACKEND(EveryBackend);

}  // namespace
}  // namespace cadre::names
