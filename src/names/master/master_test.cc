// A master that goes away, says nothing, forgets everything, or does not let us in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "names/backend_test.h"
#include "tests/servers/process.h"
#include "tests/servers/proxy.h"

namespace cadre::names {
namespace {

using servers::Proxy;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Short waits: what is tested is that they end.
Options impatient() {
  Options options;
  options.op_wait = milliseconds(300);
  options.backoff_max = milliseconds(50);
  return options;
}

class NamesByMaster : public testing::Test {
 protected:
  MasterForTests master_{MasterForTests::Speech::plain};
  const std::string url_ = master_.url("default");
};

TEST_F(NamesByMaster, AMasterThatWasKilledAndForgotEverythingHearsItAgain) {
  Side owner(url_, impatient());
  Side watcher(url_, impatient());
  std::vector<std::string> told;
  const Watch watch = watcher.names->watch("", [&](const Change& change) { told.push_back(shown(change)); }).value();
  const Epoch epoch = owner.put("a/b", "v").value();
  watcher.run_until([&] { return told.size() == 1; });
  master_.server().kill();
  const auto lost = owner.get("a/b");
  ASSERT_FALSE(lost.has_value());
  EXPECT_THAT(lost.error().code, AnyOf(Errc::unavailable, Errc::timed_out));
  EXPECT_THAT(lost.error().message, HasSubstr(std::to_string(master_.server().port())));
  EXPECT_ERROR(Errc::unavailable, owner.put("a/c", "v"));
  EXPECT_ERROR(Errc::timed_out, owner.wait("a/b", milliseconds(50)));
  master_.server().start_again();
  owner.run_until([&] { return watcher.get("a/b").has_value(); });
  EXPECT_EQ(watcher.get("a/b").value(), (Entry{"a/b", "v", epoch})) << "with the epoch that it had";
  EXPECT_ERROR(Errc::not_found, watcher.get("a/c"));
  ASSERT_DONE(owner.put("a/b", "w"));
  watcher.run_until([&] { return !told.empty() && told.back() == "a/b=w"; });
  Side other(url_);
  EXPECT_GT(other.put("a/b", "x").value(), epoch) << "epochs grow, whatever the master has forgotten";
}

TEST_F(NamesByMaster, AnEarlierOwnerDoesNotRegainANameAfterALoss) {
  Side first(url_, impatient());
  Side second(url_, impatient());
  std::vector<std::string> lost;
  first.names->on_lost([&](const std::string& key) { lost.push_back(key); });
  ASSERT_DONE(first.put("a", "first", {.ttl = seconds(1)}));
  ASSERT_DONE(second.put("a", "second", {.ttl = seconds(1)}));
  master_.server().start_again();  // before the first has noticed
  first.run_until([&] { return first.get("a").has_value(); });
  second.run_until([&] { return second.get("a").has_value() && second.get("a").value().value == "second"; });
  first.run_until([&] { return lost.size() == 1; });
  EXPECT_EQ(second.get("a").value().value, "second");
}

TEST_F(NamesByMaster, AMasterThatSaysNothingIsAnErrorAndThenFoundAgain) {
  Side side(url_, impatient());
  const Epoch epoch = side.put("a", "v").value();
  master_.server().stop();
  EXPECT_ERROR(Errc::timed_out, side.get("a"));
  for (int i = 0; i < 3; ++i) {
    const auto silent = side.put("b", "v");
    ASSERT_FALSE(silent.has_value());
    EXPECT_THAT(silent.error().code, AnyOf(Errc::unavailable, Errc::timed_out)) << silent.error().message;
  }
  master_.server().go_on();
  side.run_until([&] { return side.get("a").has_value(); });
  EXPECT_EQ(side.get("a").value(), (Entry{"a", "v", epoch}));
}

TEST_F(NamesByMaster, FailsUntilTheBackendIsReachable) {
  master_.server().kill();
  Side side(url_, impatient());
  const auto nobody = side.get("a");
  EXPECT_ERROR(Errc::unavailable, nobody);
  EXPECT_ERROR(Errc::unavailable, side.list(""));
  master_.server().start_again();
  side.run_until([&] { return side.put("a", "v").has_value(); });
}

TEST_F(NamesByMaster, RetriesLostRequestsUntilTheyAreCorrect) {
  Proxy proxy(master_.server().port());
  std::string by_proxy = url_;
  const std::string port = std::to_string(master_.server().port());
  by_proxy.replace(by_proxy.find(":" + port + "/"), port.size() + 1, ":" + std::to_string(proxy.port()));
  Side owner(by_proxy, impatient());
  Side watcher(by_proxy, impatient());
  Side direct(url_);
  std::map<std::string, std::string> told;
  const Watch watch = watcher.names
                          ->watch("",
                                  [&](const Change& change) {
                                    if (change.kind == Change::Kind::gone) {
                                      told.erase(change.entry.key);
                                    } else {
                                      told[change.entry.key] = change.entry.value;
                                    }
                                  })
                          .value();
  for (int i = 0; i < 6; ++i) {
    const std::string key = "k/" + std::to_string(i);
    const auto fault = i % 2 == 0 ? Proxy::Fault::cut : Proxy::Fault::silence;
    proxy.spoil_when_client_says(key, i % 3 == 0 ? Proxy::Moment::before : Proxy::Moment::after, fault);
    static_cast<void>(owner.put(key, "v", {.mode = PutMode::only_if_absent}));  // what was cut may be asked again
    ASSERT_DONE(direct.put("direct", std::to_string(i)));
    owner.run_until([&] { return owner.put(key, "v", {.mode = PutMode::over}).has_value(); });
    if (i == 3) proxy.spoil(Proxy::Fault::cut);
  }
  watcher.run_until([&] { return told.size() == 7 && told["direct"] == "5"; });
}

TEST_F(NamesByMaster, NamesOfAKilledOwnerExpire) {
  Side side(url_);
  const pid_t child = servers::fork_child([&] {
    Side owner(url_);
    if (!owner.put("a", "v", {.ttl = milliseconds(300)})) return 1;
    owner.run_for(seconds(600));
    return 0;
  });
  ASSERT_DONE(side.wait("a", seconds(60)));
  servers::kill_tree(child);
  side.run_until([&] { return !side.get("a").has_value(); });
  EXPECT_TRUE(side.list("").value().empty());
}

TEST_F(NamesByMaster, ReportsARefusedToken) {
  master_.add_workspace("vision");
  Side wrong(master_.url("vision", "cadre-" + std::string(48, '0')));
  for (const auto& refused : {wrong.get("a").error(), wrong.list("").error(), wrong.put("a", "v").error(),
                              wrong.wait("a", seconds(60)).error()}) {
    EXPECT_EQ(refused.code, Errc::denied) << refused.message;
    EXPECT_THAT(refused.message, AllOf(HasSubstr("token"), Not(HasSubstr("000000"))));
  }
  const std::string forged = "cadre-task-1.0/1-" + std::string(64, '0');
  Side task(master_.url("vision", forged));
  EXPECT_ERROR(Errc::denied, task.get("a"));
}

TEST_F(NamesByMaster, ViewersReadAndEditorsWrite) {
  master_.add_workspace("roles");
  Side editor(master_.url("roles", master_.add_user("ed", "roles", "editor")));
  Side viewer(master_.url("roles", master_.add_user("vi", "roles", "viewer")));
  ASSERT_DONE(editor.put("a", "v"));
  EXPECT_EQ(viewer.get("a").value().value, "v");
  EXPECT_EQ(viewer.wait("a", seconds(60)).value().value, "v");
  EXPECT_EQ(viewer.list("").value().size(), 1U);
  for (const auto& refused :
       {viewer.put("b", "v").error(), viewer.remove("a").error(), viewer.remove_subtree("").error()}) {
    EXPECT_EQ(refused.code, Errc::denied) << refused.message;
    EXPECT_THAT(refused.message, HasSubstr("requires the role editor"));
  }
  EXPECT_EQ(viewer.get("a").value().value, "v");
  master_.set_role("ed", "roles", "viewer");
  editor.run_until([&] { return !editor.put("a", "w").has_value(); });
  EXPECT_ERROR(Errc::denied, editor.put("a", "w"));
}

TEST_F(NamesByMaster, AnotherWorkspaceIsUnseenAndApart) {
  master_.add_workspace("inside");
  master_.add_workspace("outside");
  Side in(master_.url("inside", master_.add_user("insider", "inside", "editor")));
  const std::string outsiders = master_.add_user("outsider", "outside", "editor");
  Side out(master_.url("outside", outsiders));
  ASSERT_DONE(in.put("a", "in"));
  ASSERT_DONE(out.put("a", "out"));
  EXPECT_EQ(in.get("a").value().value, "in");
  EXPECT_EQ(out.get("a").value().value, "out");
  std::vector<std::string> told;
  const Watch watch = out.names->watch("", [&](const Change& change) { told.push_back(shown(change)); }).value();
  out.run_until([&] { return !told.empty(); });
  ASSERT_DONE(in.put("a", "in again"));
  ASSERT_DONE(out.put("a", "out again"));
  out.run_until([&] { return told.size() == 2; });
  EXPECT_THAT(told, ElementsAre("a=out", "a=out again"));
  Side peeps(master_.url("inside", outsiders));
  Side guesses(master_.url("nowhere", outsiders));
  for (const auto& refused : {peeps.get("a").error(), peeps.wait("a", seconds(60)).error(), peeps.put("a", "v").error(),
                              guesses.get("a").error()}) {
    EXPECT_EQ(refused.code, Errc::denied) << refused.message;
    EXPECT_THAT(refused.message, HasSubstr("there is no workspace")) << "whether it is there or not";
  }
  Side admin(master_.url("nowhere"));
  EXPECT_ERROR(Errc::denied, admin.put("a", "v"));
}

TEST(NamesByMasterInTls, AMasterIsBelievedOnlyWithTheRightCertificate) {
  MasterForTests& master = shared_master_in_tls();
  const std::string good = master.url("default");
  Side right(good);
  EXPECT_ERROR(Errc::not_found, right.get("tls/nothing"));
  Side without(good.substr(0, good.find("?ca=")));
  EXPECT_ERROR(Errc::denied, without.get("a"));
  std::string plain = "master" + good.substr(7, good.find("?ca=") - 7);
  Side speaks_plainly(plain, impatient());
  const auto refused = speaks_plainly.get("a");
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().code, AnyOf(Errc::unavailable, Errc::timed_out, Errc::corrupt, Errc::invalid))
      << refused.error().message;
}

}  // namespace
}  // namespace cadre::names
