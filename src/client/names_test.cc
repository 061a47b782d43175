#include <cadre/names.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include "tests/servers/scratch.h"
#include "tests/servers/variable.h"

namespace cadre {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct NamesOfUsers : testing::Test {
  const std::string url =
      "memory://names-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name());
};

std::string shown(const Outcome<Names::Change>& change) {
  if (!change) return change.reason().text;
  return change->entry.key + (change->kind == Names::Change::Kind::put ? "=" + change->entry.value : " gone");
}

TEST_F(NamesOfUsers, AreFoundFromPutUntilRemoval) {
  Names names(url);
  Names other(url);
  const std::uint64_t epoch = names.put("a/b", "1").value();
  EXPECT_EQ(names.put("a/b", "2").value(), epoch);
  EXPECT_EQ(other.get("a/b")->value, "2");
  EXPECT_EQ(other.get("a/b")->epoch, epoch);
  EXPECT_EQ(other.put("a/b", "3", {.only_if_absent = true}).reason().code, Reason::Code::conflict);
  EXPECT_GT(other.put("a/b", "3").value(), epoch);
  EXPECT_EQ(names.list("a")->size(), 1U);
  names.put("a/c", "v").value();
  names.remove("a/c").value();
  EXPECT_EQ(names.remove("a/c").reason().code, Reason::Code::not_found);
  EXPECT_EQ(names.remove_subtree("").value(), 1U);
  EXPECT_EQ(names.get("a/b").reason().code, Reason::Code::not_found);
  EXPECT_EQ(names.put("a b", "v").reason().code, Reason::Code::invalid);
}

TEST_F(NamesOfUsers, AWaitEndsWithTheNameOrItsTime) {
  Names names(url);
  Names other(url);
  EXPECT_EQ(names.wait("late", 10ms).reason().code, Reason::Code::timed_out);
  const std::jthread puts([&] {
    std::this_thread::sleep_for(20ms);
    other.put("late", "v").value();
  });
  EXPECT_EQ(names.wait("late", 60s)->value, "v");
}

TEST_F(NamesOfUsers, ManyThreadsMayAskAtOnce) {
  Names names(url);
  std::atomic<int> found = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const std::string mine = "t/" + std::to_string(i);
        const std::string next = "t/" + std::to_string((i + 1) % 8);
        for (int round = 0; round < 50; ++round) names.put(mine, std::to_string(round)).value();
        if (names.wait(next, 60s)) ++found;
      });
    }
  }
  EXPECT_EQ(found, 8);
  EXPECT_EQ(names.list("t")->size(), 8U);
}

TEST_F(NamesOfUsers, AWatchTellsEachChangeAndHowItStandsInTheEnd) {
  Names names(url);
  Names other(url);
  other.put("a/there", "1").value();
  Names::Watch watch = names.watch("a").value();
  EXPECT_EQ(shown(watch.next(60s)), "a/there=1");
  EXPECT_EQ(watch.next(10ms).reason().code, Reason::Code::timed_out);
  other.put("a/new", "1").value();
  EXPECT_EQ(shown(watch.next(60s)), "a/new=1");
  other.put("a/brief", "1").value();
  other.remove("a/brief").value();
  for (int i = 2; i <= 20; ++i) other.put("a/new", std::to_string(i)).value();
  other.remove("a/there").value();
  std::set<std::string> said;
  while (!said.contains("a/there gone") || !said.contains("a/new=20")) {
    const Outcome<Names::Change> change = watch.next(60s);
    ASSERT_TRUE(change) << change.reason().text;
    said.insert(shown(change));
  }
  EXPECT_EQ(said.contains("a/brief=1"), said.contains("a/brief gone"));
  watch = names.watch("b").value();
  other.put("b", "1").value();
  EXPECT_EQ(shown(watch.next(60s)), "b=1");
}

TEST_F(NamesOfUsers, CloseRemovesNamesAndWakesWaiters) {
  Names stays(url);
  auto names = std::make_unique<Names>(url);
  names->put("a", "v", {.ttl = 1h}).value();
  Names::Watch watch = names->watch("nothing").value();
  std::jthread closes([&] {
    std::this_thread::sleep_for(20ms);
    names.reset();
  });
  EXPECT_EQ(watch.next(60s).reason().code, Reason::Code::conflict);
  closes.join();
  EXPECT_EQ(stays.get("a").reason().code, Reason::Code::not_found);
  stays.close();
  stays.close();
  EXPECT_EQ(stays.get("a").reason().code, Reason::Code::conflict);
}

TEST_F(NamesOfUsers, InAFolderAreRemovedBeforeCloseReturns) {
  const servers::TempDir folder;
  Names stays("file://" + folder.path());
  {
    Names names("file://" + folder.path());
    for (int i = 0; i < 20; ++i) names.put("a/" + std::to_string(i), "v", {.ttl = 1h}).value();
  }
  EXPECT_TRUE(stays.list("").value().empty());
}

TEST_F(NamesOfUsers, CallTheLossCallbackAndRefuseWaitingInIt) {
  Names names(url);
  Names other(url);
  std::atomic<bool> is_lost = false;
  std::atomic<bool> was_refused = false;
  names.on_lost([&](const std::string& key) {
    was_refused = !names.get(key);
    is_lost = true;
  });
  names.put("a", "mine", {.ttl = 100ms}).value();
  other.put("a", "taken").value();
  for (int i = 0; i < 6'000 && !is_lost; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(is_lost);
  EXPECT_TRUE(was_refused);
}

TEST_F(NamesOfUsers, ReportAnInvalidUrlWithTheRemedy) {
  const servers::TempDir home;
  const servers::Variable config("XDG_CONFIG_HOME", home.path());
  const servers::Variable data("XDG_DATA_HOME", home.path());
  const servers::Variable no_master("CADRE_MASTER", "");
  Names bad("redis://:secret@");
  EXPECT_EQ(bad.get("a").reason().code, Reason::Code::invalid);
  EXPECT_THAT(bad.put("a", "v").reason().text, AllOf(HasSubstr("redis://"), Not(HasSubstr("secret"))));
  EXPECT_EQ(bad.watch("").reason().code, Reason::Code::invalid);
  Names nowhere;
  EXPECT_EQ(nowhere.get("a").reason().code, Reason::Code::unavailable);
  EXPECT_THAT(nowhere.get("a").reason().text, AllOf(HasSubstr("no URL of names"), HasSubstr("CADRE_MASTER")));
  std::filesystem::create_directory(home.path() + "/cadre");
  std::ofstream(home.path() + "/cadre/client.json") << R"({"url": "http://127.0.0.1:1", "token": "secret"})";
  const auto refused = nowhere.get("a").reason();
  EXPECT_EQ(refused.code, Reason::Code::unavailable);
  EXPECT_THAT(refused.text, AllOf(HasSubstr("http://127.0.0.1:1"), Not(HasSubstr("secret"))))
      << "each time it is looked anew where the master is";
}

}  // namespace
}  // namespace cadre
