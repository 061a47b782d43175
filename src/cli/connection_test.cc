#include "cli/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cli/fake_master_test.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;
using requests::Reply;
using testing::HasSubstr;

loop::Task<void> ask_once(Connection& connection, requests::Request request, Duration wait, Result<Reply>& into,
                          loop::RealLoop& loop) {
  into = co_await connection.ask(std::move(request), wait);
  loop.stop();
}

Result<Reply> ask(const std::string& folder, requests::Request request, Duration wait) {
  loop::RealLoop loop;
  auto connection = Connection::open(loop, {folder});
  if (!connection) return Failure(connection.error());
  Result<Reply> reply = fail(Errc::corrupt, "never answered");
  loop.spawn(ask_once(**connection, std::move(request), wait, reply, loop));
  loop.run();
  loop.destroy_tasks();
  return reply;
}

TEST(Connection, SaysWhatToDoWhenThereIsNoMaster) {
  const servers::TempDir empty;
  const auto never = ask(empty.path(), requests::GetStatus{}, 10s);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Errc::unavailable);
  EXPECT_THAT(never.error().message, HasSubstr("no master answers at " + empty.path() + "; start one with `cadre up`"));
}

TEST(Connection, DoesNotWaitLongForAMasterThatIsGone) {
  FakeMaster master;
  master.stop();
  const auto begun = std::chrono::steady_clock::now();
  const auto reply = ask(master.folder(), requests::GetStatus{}, 10s);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::unavailable);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
}

TEST(Connection, GivesUpOnAMasterThatDoesNotAnswer) {
  const FakeMaster master([](const requests::Request&) { return FakeMaster::Replies{}; });
  const auto reply = ask(master.folder(), requests::GetStatus{}, 300ms);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::timed_out);
  EXPECT_THAT(reply.error().message, HasSubstr("has not answered for 300ms"));
}

/// Answers nothing before it was started again.
struct Forgetful {
  std::atomic<bool> was_restarted = false;
  FakeMaster master{
      [this](const requests::Request&) { return was_restarted ? std::nullopt : std::optional(FakeMaster::Replies{}); }};
  void restart_when_asked() {
    for (int i = 0; i < 5'000 && asked() == 0; ++i) std::this_thread::sleep_for(1ms);
    master.stop();
    was_restarted = true;
    master.start();
  }
  std::size_t asked() {
    return master.asked<requests::GetJob>().size() + master.asked<requests::Submit>().size() +
           master.asked<requests::EndJob>().size();
  }
};

TEST(Connection, AsksAgainWhenTheMasterWasRestarted) {
  for (const requests::Request& request : {requests::Request(requests::GetJob{{17}, std::nullopt}),
                                           requests::Request(requests::EndJob{{17}, std::nullopt})}) {
    Forgetful forgetful;
    std::thread restart([&] { forgetful.restart_when_asked(); });
    const auto reply = ask(forgetful.master.folder(), request, 20s);
    restart.join();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(std::get<requests::JobView>(*reply).id.value, 17U);
    EXPECT_EQ(forgetful.asked(), 2U);
  }
}

TEST(Connection, NeverSubmitsTwice) {
  Forgetful forgetful;
  std::thread restart([&] { forgetful.restart_when_asked(); });
  requests::Submit submit;
  submit.job.members.resize(1);
  submit.job.members[0].command.argv = {"x"};
  const auto reply = ask(forgetful.master.folder(), submit, 20s);
  restart.join();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, Errc::timed_out);
  EXPECT_THAT(reply.error().message, HasSubstr("it may have taken the job: look with `cadre job list`"));
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(forgetful.asked(), 1U);
}

}  // namespace
}  // namespace cadre::cli
