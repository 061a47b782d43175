#include "rest/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "cli/exit_code.h"
#include "cli/fake_master_test.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

template <class T>
loop::Task<void> keep(loop::Task<T> task, std::optional<T>& into, loop::RealLoop& loop) {
  T got = co_await std::move(task);
  into.emplace(std::move(got));
  loop.stop();
}

/// Somebody who speaks to a master, one question after another.
struct Asking {
  explicit Asking(rest::Endpoint master)
      : connection(loop, std::move(master), {.naming = "--master or CADRE_MASTER"}) {}
  explicit Asking(const FakeMaster& master) : Asking(rest::Endpoint{master.url(), FakeMaster::token, "", ""}) {}

  template <class T>
  T run(loop::Task<T> task) {
    std::optional<T> got;
    loop.spawn(keep(std::move(task), got, loop));
    loop.run();
    return *std::move(got);
  }
  template <class T>
  Result<typename T::Answer> ask(T request, Duration wait = rest::answer_max) {
    return run(connection.ask(std::move(request), wait));
  }
  /// What is said when it is not got.
  template <class T>
  Error refused(T request, Duration wait = rest::answer_max) {
    const auto got = ask(std::move(request), wait);
    return got ? Error{Errc{}, "it was got"} : got.error();
  }

  loop::RealLoop loop;
  rest::Client connection;
};

FakeMaster::Script always_answer(Answer answer) {
  return [answer = std::move(answer)](const FakeMaster::Request&) { return std::optional(answer); };
}

requests::Submit some_job() {
  requests::Submit submit;
  submit.job.members.resize(1);
  submit.job.members[0].command.argv = {"x"};
  return submit;
}

TEST(RestClient, SuggestsARemedyWhenNoMasterAnswers) {
  FakeMaster master;
  master.stop();
  Asking asking(master);
  const auto begun = steady_clock::now();
  const Error no = asking.refused(requests::GetStatus{}, 10s);
  EXPECT_LT(steady_clock::now() - begun, 3s) << "about a second is enough to know it";
  EXPECT_EQ(no.code, Errc::unavailable);
  EXPECT_EQ(no.message, "no master answers at " + master.url() +
                            "; start one with `cadre up`, or name another with --master or CADRE_MASTER");
  EXPECT_EQ(asking.refused(some_job()), no) << "nobody can have taken it";
  EXPECT_FALSE(asking.connection.is_connected());
}

TEST(RestClient, WaitsAMomentForAMasterThatIsJustStarting) {
  FakeMaster master;
  master.stop();
  std::thread start([&] {
    std::this_thread::sleep_for(400ms);
    master.start();
  });
  Asking asking(master);
  EXPECT_TRUE(asking.ask(requests::GetJob{{17}, std::nullopt}));
  start.join();
}

TEST(RestClient, GivesUpOnAMasterThatDoesNotAnswer) {
  const FakeMaster master(always_answer(silence()));
  const Error no = Asking(master).refused(requests::GetStatus{}, 300ms);
  EXPECT_EQ(no.code, Errc::timed_out);
  EXPECT_EQ(no.message, "the master at " + master.url() +
                            " has not answered for 0.3 s, or disconnected before it responded; try again later");
}

/// Answers nothing before it was started again.
struct Forgetful {
  std::optional<Answer> later;  ///< what it says then; nothing: what it would
  std::atomic<bool> was_restarted = false;
  FakeMaster master{[this](const FakeMaster::Request&) { return was_restarted ? later : std::optional(silence()); }};
  std::thread restarting;

  /// When somebody has asked, and has waited for so long.
  void restart_when_asked(Duration wait = 0s, Duration gone = 0s) {
    restarting = std::thread([this, wait, gone] {
      for (int i = 0; i < 5'000 && master.heard().empty(); ++i) std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(wait);
      master.stop();
      was_restarted = true;
      std::this_thread::sleep_for(gone);
      master.start();
    });
  }
  ~Forgetful() {
    if (restarting.joinable()) restarting.join();
  }
};

template <class T>
void expect_asked_again(T request) {
  Forgetful forgetful;
  forgetful.restart_when_asked();
  Asking asking(forgetful.master);
  const auto got = asking.ask(std::move(request), 20s);
  EXPECT_TRUE(got) << T::type_name << ": " << got.error().message;
  EXPECT_EQ(forgetful.master.heard().size(), 2U) << T::type_name;
  EXPECT_TRUE(asking.connection.is_connected());
}

TEST(RestClient, AsksAgainWhenTheMasterWasRestarted) {
  expect_asked_again(requests::GetJob{{17}, std::nullopt});
  expect_asked_again(requests::Why{{17}});
  expect_asked_again(requests::EndJob{{17}, std::nullopt});
  expect_asked_again(requests::KillJob{{17}});
  expect_asked_again(requests::SetJob{{17}, 3, {}, {}, {}});
  expect_asked_again(requests::GetCode{std::string(64, 'a')});
}

TEST(RestClient, TreatsAMissingObjectAsRemovedAfterALostResponse) {
  const access::DeleteUser request{"ann"};
  Forgetful forgetful;
  forgetful.later = told_no(404, "there is no user 'ann'");
  forgetful.restart_when_asked();
  Asking asking(forgetful.master);
  EXPECT_TRUE(asking.ask(request, 20s));
  EXPECT_EQ(asking.refused(request).message, "there is no user 'ann'") << "nobody has asked for that before";
  EXPECT_EQ(forgetful.master.heard().size(), 3U);
}

TEST(RestClient, RetriesAMasterThatWasReachableBefore) {
  Forgetful forgetful;
  forgetful.restart_when_asked(1'200ms, 1'200ms);
  const auto got = Asking(forgetful.master).ask(requests::GetJob{{17}, std::nullopt}, 20s);
  EXPECT_TRUE(got) << got.error().message;
}

template <class T>
Error asked_once(T request) {
  Forgetful forgetful;
  forgetful.restart_when_asked();
  const Error no = Asking(forgetful.master).refused(std::move(request), 20s);
  forgetful.restarting.join();
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(forgetful.master.heard().size(), 1U) << T::type_name;
  return no;
}

TEST(RestClient, RepeatsASubmissionWithItsKeyThroughARestart) {
  Forgetful forgetful;
  forgetful.restart_when_asked();
  const auto got = Asking(forgetful.master).ask(some_job(), 20s);
  EXPECT_TRUE(got) << got.error().message;
  const std::vector<std::string> keys = forgetful.master.keys();
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].size(), 32U);
  EXPECT_EQ(keys[0], keys[1]);
  ASSERT_TRUE(Asking(forgetful.master).ask(some_job(), 20s));
  EXPECT_NE(forgetful.master.keys().at(2), keys[0]) << "another submission has another key";
}

TEST(RestClient, DoesNothingTwiceThatIsNotTheSameTwice) {
  EXPECT_THAT(asked_once(requests::MoveJob{{17}, {12}, false}).message, HasSubstr("disconnected before it responded"));
  EXPECT_EQ(asked_once(requests::MakeJoinToken{}).code, Errc::timed_out);
}

TEST(RestClient, AsksOnceIfThatIsWanted) {
  FakeMaster master;
  Asking asking(master);
  ASSERT_TRUE(asking.ask(requests::GetJob{{17}, std::nullopt}));
  std::thread restart([&] {
    EXPECT_TRUE(master.wait_asked<requests::GetJob>(2));
    master.stop();
    master.start();  // at once: not even over a connection that was kept it is asked again
  });
  const auto lost = asking.run(asking.connection.ask_once(requests::GetJob{{17}, 1}, 5s));
  restart.join();
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::timed_out);
  EXPECT_EQ(master.heard().size(), 2U);
  master.stop();
  const auto begun = steady_clock::now();
  EXPECT_FALSE(asking.run(asking.connection.ask_once(requests::GetJob{{17}, 1}, 20s)));
  EXPECT_LT(steady_clock::now() - begun, 1s);
}

TEST(RestClient, SubmitsOnceToAMasterThatComesBack) {
  FakeMaster master;
  Asking asking(master);
  ASSERT_TRUE(asking.ask(requests::GetJob{{17}, std::nullopt}));
  master.stop();
  std::thread start([&] {
    std::this_thread::sleep_for(1'500ms);
    master.start();
  });
  const auto got = asking.ask(some_job(), 20s);
  start.join();
  EXPECT_TRUE(got) << got.error().message;
  EXPECT_EQ(master.asked<requests::Submit>().size(), 1U);
}

TEST(RestClient, EndsAsTheAnswerSays) {
  struct Case {
    int status;
    Errc code;
    ExitCode exit_code;
  };
  for (const Case& one :
       {Case{400, Errc::invalid, refused}, Case{401, Errc::denied, refused}, Case{403, Errc::denied, refused},
        Case{404, Errc::not_found, failed}, Case{405, Errc::corrupt, failed}, Case{409, Errc::conflict, refused},
        Case{413, Errc::invalid, refused}, Case{426, Errc::denied, refused}, Case{429, Errc::unavailable, unreachable},
        Case{500, Errc::corrupt, failed}, Case{503, Errc::unavailable, unreachable},
        Case{504, Errc::timed_out, unreachable}}) {
    FakeMaster master(always_answer(told_no(one.status, "since it is so")));
    const Error no = Asking(master).refused(some_job());
    EXPECT_EQ(no, (Error{one.code, "since it is so"})) << one.status;
    EXPECT_EQ(exit_code_of(no), one.exit_code) << one.status;
    EXPECT_EQ(master.heard().size(), 1U) << "an answer is an answer";
  }
}

TEST(RestClient, ListsAllFaultsOneOnALine) {
  const FakeMaster master(always_answer(told_no(
      400, "the request has 3 faults",
      {{"members[0].slots", "must be from 0 to 9, is 10"}, {"", "the pool is gone"}, {"name", "is too long"}})));
  EXPECT_EQ(Asking(master).refused(some_job()),
            (Error{Errc::invalid,
                   "the request has 3 faults\n  members[0].slots: must be from 0 to 9, is 10\n  the pool is gone\n"
                   "  name: is too long"}));
}

TEST(RestClient, ReportsTheReasonOfAnOverloadedServer) {
  const FakeMaster master(always_answer(told_text(503, "application/problem+json",
                                                  "{\"title\": \"there are too many connections\", \"status\": 503}"
                                                  "\n")));
  EXPECT_EQ(Asking(master).refused(requests::GetStatus{}),
            (Error{Errc::unavailable, "there are too many connections"}));
}

TEST(RestClient, ShowsItsTokenAndSaysHowToGetOne) {
  FakeMaster master;
  EXPECT_TRUE(Asking(master).ask(requests::GetJob{{17}, std::nullopt}));
  const net::http::Request heard = master.heard().at(0);
  EXPECT_EQ(net::http::find(heard.headers, "Authorization"), std::string("Bearer ") + FakeMaster::token);
  EXPECT_EQ(
      Asking({master.url(), "", "", ""}).refused(requests::GetJob{{17}, std::nullopt}),
      (Error{Errc::denied,
             "not logged in; log in with: cadre login " + master.url() +
                 " --user NAME, or set CADRE_TOKEN; for your own master, use its data folder instead of its URL"}));
  EXPECT_EQ(net::http::find(master.heard().at(1).headers, "Authorization"), "");
  EXPECT_EQ(Asking({master.url(), "another", "", ""}).refused(requests::GetJob{{17}, std::nullopt}),
            (Error{Errc::denied, "this token is not known"}));
  const Error odd = Asking({master.url(), "two\nlines", "", ""}).refused(requests::GetStatus{});
  EXPECT_EQ(odd.code, Errc::corrupt);
  EXPECT_EQ(odd.message, "the header 'Authorization' cannot be sent");
  EXPECT_EQ(master.heard().size(), 3U);
}

TEST(RestClient, KnowsAnAnswerThatIsNone) {
  for (const char* body : {"hello", "", "{", "[]", "{\"text\": 17}", "{\"words\": \"x\"}", "{\"text\":\"x\"} more"}) {
    const FakeMaster master(always_answer(told_text(200, "text/plain", body)));
    const Error no = Asking(master).refused(requests::Why{{17}});
    EXPECT_EQ(no.code, Errc::corrupt) << body;
    EXPECT_THAT(no.message, testing::AllOf(HasSubstr("the master's answer"),
                                           HasSubstr("; check that `cadre` and the master have the same version")))
        << body;
  }
}

TEST(RestClient, DetectsAServerThatIsNotAMaster) {
  for (const int status : {301, 400, 404, 500, 503}) {
    for (const char* body : {"<html>Not here</html>", "", "{}", "[1, 2]", "{\"error\": {\"code\": 404}}"}) {
      const FakeMaster other(always_answer(told_text(status, "text/html", body)));
      EXPECT_EQ(Asking(other).refused(requests::GetStatus{}),
                (Error{Errc::corrupt,
                       "what answers at " + other.url() + " is not a master: it responded " + std::to_string(status)}));
    }
  }
}

/// Sends the same response to every client, whatever the request, and closes the connection.
class OtherServer {
 public:
  explicit OtherServer(std::string words) : words_(std::move(words)), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 16), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (int peer = 0; (peer = accept(listener_, nullptr, nullptr)) >= 0; close(peer)) {
        char heard[4096];
        static_cast<void>(!read(peer, heard, sizeof heard));
        static_cast<void>(!write(peer, words_.data(), words_.size()));
      }
    });
  }
  OtherServer(const OtherServer&) = delete;
  OtherServer& operator=(const OtherServer&) = delete;
  ~OtherServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  const std::string words_;
  const int listener_;
  int port_ = 0;
  std::thread thread_;
};

TEST(RestClient, FailsSoonIfThePeerDoesNotSpeakHttp) {
  for (const char* words : {"", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
                            "HTTP/1.1 abc\r\n\r\n", "220 smtp ready\r\n"}) {
    const OtherServer other(words);
    const auto begun = steady_clock::now();
    const Error no = Asking({other.url(), "", "", ""}).refused(requests::GetStatus{}, 2s);
    EXPECT_LT(steady_clock::now() - begun, 4s) << words;
    EXPECT_TRUE(no.code == Errc::corrupt || no.code == Errc::unavailable || no.code == Errc::timed_out) << words;
    EXPECT_THAT(no.message, HasSubstr(other.url())) << words;
  }
}

TEST(RestClient, SaysThatAnAddressIsNone) {
  EXPECT_EQ(Asking({"", "", "", ""}).refused(requests::GetStatus{}).code, Errc::corrupt);
  EXPECT_EQ(Asking({"http://a b", "", "", ""}).refused(requests::GetStatus{}).code, Errc::corrupt);
  EXPECT_EQ(Asking({"http://nowhere.invalid:1", "", "", ""}).refused(requests::GetStatus{}).code, Errc::unavailable);
}

TEST(RestClient, PutsFieldsWhereTheyBelong) {
  FakeMaster master(always_answer(told_no(404, "no")));
  Asking asking(master);
  const auto said = [&](auto request) {
    asking.refused(std::move(request));
    const net::http::Request last = master.heard().back();
    return std::string(to_string(last.method)) + " " + last.target + (last.body.empty() ? "" : " " + last.body);
  };
  EXPECT_EQ(said(requests::GetJob{{17}, std::nullopt}), "GET /api/v1/jobs/17");
  EXPECT_EQ(said(requests::GetJob{{17}, 5}), "GET /api/v1/jobs/17?seen=5");
  EXPECT_EQ(said(requests::EndJob{{17}, Duration(90s)}), "POST /api/v1/jobs/17/stop {\"grace\":\"1m30s\"}");
  EXPECT_EQ(said(requests::KillJob{{17}}), "POST /api/v1/jobs/17/kill {}");
  EXPECT_EQ(said(requests::GetAgent{cluster::AgentId("a/b c?d%+&=#\xc3\xa4")}),
            "GET /api/v1/agents/a%2Fb%20c%3Fd%25%2B%26%3D%23%C3%A4");
  EXPECT_EQ(said(requests::GetAgent{cluster::AgentId("..")}), "GET /api/v1/agents/..");
  EXPECT_EQ(said(requests::SetSlot{cluster::AgentId("blue"), 3, cluster::control::SlotState::draining}),
            "PATCH /api/v1/agents/blue/slots/3 {\"state\":\"draining\"}");
  EXPECT_EQ(said(some_job()), "POST /api/v1/jobs {\"members\":[{\"command\":{\"argv\":[\"x\"]}}]}")
      << "an older master knows no newer field, not even at its default";
  requests::ReadLogs read;
  read.task = {{17}, 2};
  read.grep = "a&b=c+d";
  read.level = Level::warning;
  EXPECT_EQ(said(read), "GET /api/v1/tasks/17.2/logs?level=warning&grep=a%26b%3Dc%2Bd") << "no defaults";
}

TEST(RestClient, PutsBytesAsTheyAre) {
  FakeMaster master;
  const std::string bytes("\0{}\xff\n", 5);
  const std::string hash = objects::sha256(as_bytes(bytes));
  Asking asking(master);
  const auto state = asking.run(asking.connection.put(requests::PutCode{hash, 5, 0}, bytes, 10s));
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_TRUE(state->complete);
  EXPECT_EQ(master.heard().at(0).body, bytes);
  EXPECT_EQ(master.heard().at(0).target, "/api/v1/code/" + hash + "?size=5&offset=0");
}

TEST(RestClient, ClosesTheConnectionWhenACallIsCancelled) {
  FakeMaster master(always_answer(silence()));
  Asking asking(master);
  std::optional<Result<requests::Status>> got;
  asking.loop.spawn(keep(asking.connection.ask(requests::GetStatus{}), got, asking.loop));
  const loop::Timer leaving = asking.loop.after(200ms, [&] { asking.loop.stop(); });
  asking.loop.run();
  asking.loop.destroy_tasks();
  EXPECT_FALSE(got);
  const loop::Timer end = asking.loop.after(100ms, [&] { asking.loop.stop(); });
  asking.loop.run();
  EXPECT_TRUE(master.wait_gone());
}

struct Lines {
  explicit Lines(Answer answer) : master(always_answer(std::move(answer))) {
    ended = asking.run(asking.connection.stream(requests::RunExec{{{17}, 0}, {"x"}},
                                                [&](std::string_view line) { lines.emplace_back(line); }));
  }
  FakeMaster master;
  Asking asking{master};
  std::vector<std::string> lines;
  Result<void> ended;
};

TEST(Stream, ComesLineByLineHoweverItIsCut) {
  const Lines lines(told_in_pieces(Answer::Way::stream, {"a\nb", "", "b\n\nc", "cc", "\n", "d\ne\n", "half"}));
  EXPECT_TRUE(lines.ended);
  EXPECT_THAT(lines.lines, ElementsAre("a", "bb", "", "ccc", "d", "e"));
}

TEST(Stream, SaysWhenItIsCut) {
  const Lines lines(told_in_pieces(Answer::Way::cut_stream, {"a\n", "b"}));
  ASSERT_FALSE(lines.ended);
  EXPECT_EQ(lines.ended.error().code, Errc::timed_out);
  EXPECT_THAT(lines.ended.error().message, HasSubstr("was lost"));
  EXPECT_THAT(lines.lines, ElementsAre("a"));
}

TEST(Stream, IsRequestedOnceAndCanBeRefused) {
  Lines lines(told_no(409, "the task does not run"));
  ASSERT_FALSE(lines.ended);
  EXPECT_EQ(lines.ended.error(), (Error{Errc::conflict, "the task does not run"}));
  EXPECT_EQ(lines.master.heard().size(), 1U);
  Lines silent(told_in_pieces(Answer::Way::cut_stream, {}));
  EXPECT_FALSE(silent.ended);
  EXPECT_EQ(silent.master.heard().size(), 1U);
}

TEST(Stream, IsReadOfAnyRoute) {
  FakeMaster master(always_answer(told_in_pieces(Answer::Way::stream, {"a\nb", "b\n"})));
  Asking asking(master);
  std::vector<std::string> lines;
  EXPECT_TRUE(asking.run(asking.connection.stream_any(
      requests::RunExec::route, describe::write(requests::RunExec{{{17}, 2}, {"x"}}, describe::Defaults::omitted),
      [&](std::string_view line) { lines.emplace_back(line); })));
  EXPECT_THAT(lines, ElementsAre("a", "bb"));
  EXPECT_EQ(master.heard().back().target, "/api/v1/tasks/17.2/exec");
  EXPECT_EQ(master.heard().back().body, R"({"argv":["x"]})");
}

TEST(Stream, ReportsAnUnreachableMaster) {
  FakeMaster master;
  master.stop();
  Asking asking(master);
  const Result<void> ended =
      asking.run(asking.connection.stream(requests::RunExec{{{17}, 0}, {"x"}}, [](std::string_view) {}));
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.error().message, StartsWith("no master answers at " + master.url()));
}

}  // namespace
}  // namespace cadre::cli
