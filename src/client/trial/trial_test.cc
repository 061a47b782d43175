#include <cadre/trial.h>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "client/supervisor_for_tests.h"
#include "client/trial/fake_trial_master_for_tests.h"
#include "objects/tree_for_tests.h"
#include "tests/servers/process.h"
#include "tests/servers/scratch.h"
#include "tests/servers/variable.h"

namespace cadre::core {
namespace {

using namespace std::chrono_literals;
using client::FakeTrialMaster;
using objects::read_whole;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Code = Reason::Code;

#define EXPECT_REASON(code_, outcome_)                            \
  do {                                                            \
    const auto& seen_ = (outcome_);                               \
    ASSERT_FALSE(seen_) << "it succeeded";                        \
    EXPECT_EQ(seen_.reason().code, code_) << seen_.reason().text; \
  } while (false)

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Plain data.

struct Point {
  double x = 0;
  int y = 0;
};
template <class V>
void describe(V& v, Point& p) {
  v.field("x", p.x, "");
  v.field("y", p.y, "");
}

TEST(Data, IsReadByTypesAndPaths) {
  const Data data{{"lr", 0.5}, {"name", "sgd"}, {"point", Point{1.5, 2}}, {"nested", {{"deep", {{"ok", true}}}}}};
  EXPECT_EQ(data.get<double>("lr"), 0.5);
  EXPECT_EQ(data.get<std::string>("name"), "sgd");
  EXPECT_EQ(data.get<Point>("point").y, 2);
  EXPECT_EQ(data.get<int>("point.y"), 2);
  EXPECT_TRUE(data.get<bool>("nested.deep.ok"));
  EXPECT_EQ(data.get<int>("nested.no", 7), 7);
  EXPECT_FALSE(data.has("point.z"));
  EXPECT_THROW(static_cast<void>(data.get<int>("no")), ValueError);
  EXPECT_THROW(static_cast<void>(data.get<double>("name")), ValueError);
  EXPECT_TRUE((Data().as<std::map<std::string, int>>().empty()));
  EXPECT_EQ((Data(std::map<std::string, int>{{"a", 1}}).get<int>("a")), 1);
}

// Off the cluster.

class OffCluster : public testing::Test {
 protected:
  InitOptions quiet() const {
    InitOptions options;
    options.show_progress = false;
    options.folder = folder();
    return options;
  }
  std::string folder() const { return place_.path() + "/run"; }
  const servers::TempDir place_;
};

TEST_F(OffCluster, TheSameProgramRunsAndAFolderKeepsItsMetrics) {
  InitOptions options = quiet();
  options.hyperparameters = {{"lr", 0.1}, {"optimizer", {{"momentum", 0.9}}}};
  options.arguments = {"optimizer.momentum=0.5", "--verbose"};
  options.seed = 11;
  options.until = 20;
  {
    Trial trial = init(options).value();
    EXPECT_FALSE(trial.info().on_cluster);
    EXPECT_EQ(trial.info().run, 1);
    EXPECT_EQ(trial.info().seed, 11);
    EXPECT_EQ(trial.info().until, 20);
    EXPECT_EQ(trial.info().hyperparameters.get<double>("lr"), 0.1);
    EXPECT_EQ(trial.info().hyperparameters.get<double>("optimizer.momentum"), 0.5);
    EXPECT_FALSE(trial.info().latest_checkpoint);
    EXPECT_FALSE(trial.preempt.should_stop());
    trial.train.report_training(10, {{"loss", 0.5}}).value();
    trial.train.report_validation(10, {{"accuracy", 1.0 / 0.0}}).value();
    trial.train.report_progress(0.5).value();
    trial.train.set_status("going").value();
  }
  const auto lines = lines_of(folder() + "/metrics.jsonl");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], HasSubstr(R"("run":1,"group":"training","steps":10)"));
  EXPECT_THAT(lines[0], HasSubstr(R"("metrics":{"loss":0.5})"));
  EXPECT_THAT(lines[1], HasSubstr(R"("metrics":{"accuracy":"Infinity"})"));
}

TEST_F(OffCluster, WhatOnlyAClusterWouldRefuseGetsAWarning) {
  InitOptions options = quiet();
  options.hyperparameters = {{"lr", 0.1}};
  options.arguments = {"lrr=0.5"};
  options.metric = "by_class.cat";
  testing::internal::CaptureStderr();
  {
    Trial trial = init(options).value();
    EXPECT_EQ(trial.info().metric, "by_class.cat");
    trial.train.report_training(1, {{"loss", 1}}).value();
    trial.train.report_validation(1, {{"by_class", {{"cat", 0.5}}}}).value();
    trial.train.report_validation(2, {{"by_class", {{"cat", "good"}}}}).value();
    trial.train.report_validation(3, {{"loss", 1}}).value();
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "cadre: warning: 'lrr=0.5' sets no hyperparameter: did you mean 'lr'?\n"
            "cadre: warning: the validation of step 2 has no number for the metric 'by_class.cat'; on a cluster, the "
            "search could not use it\n");
}

TEST_F(OffCluster, TheSeedOfATrialCanBeGivenByAVariable) {
  {
    const servers::Variable variable("CADRE_TRIAL_SEED", "2147483647");
    EXPECT_EQ(init(quiet()).value().info().seed, 2147483647);
  }
  const servers::Variable variable("CADRE_TRIAL_SEED", "-1");
  InitOptions options = quiet();
  options.resume = true;
  EXPECT_REASON(Code::invalid, init(options));
}

TEST_F(OffCluster, ACheckpointIsWhatTheNextRunBeginsWith) {
  std::string uuid;
  {
    Trial trial = init(quiet()).value();
    uuid = trial.checkpoint
               .store_path(7, [](const std::string& path) { objects::write_file(path + "/a/model", "weights"); },
                           {{"epoch", 3}})
               .value();
  }
  EXPECT_REASON(Code::conflict, init(quiet()));
  InitOptions options = quiet();
  options.resume = true;
  Trial trial = init(options).value();
  EXPECT_EQ(trial.info().run, 2);
  ASSERT_TRUE(trial.info().latest_checkpoint);
  EXPECT_EQ(trial.info().latest_checkpoint->uuid, uuid);
  EXPECT_EQ(trial.info().latest_checkpoint->steps, 7);
  EXPECT_EQ(trial.info().latest_checkpoint->metadata.get<int>("epoch"), 3);
  EXPECT_EQ(trial.info().latest_checkpoint->size_bytes, 7);
  std::string restored;
  trial.checkpoint.restore_path(uuid, [&](const std::string& path) { restored = read_whole(path + "/a/model"); })
      .value();
  EXPECT_EQ(restored, "weights");
  trial.checkpoint.download(uuid, place_.path() + "/copy").value();
  EXPECT_EQ(read_whole(place_.path() + "/copy/a/model"), "weights");
  EXPECT_EQ(std::filesystem::exists(folder() + "/checkpoints/" + uuid + "/a/model"), true);
  EXPECT_REASON(Code::not_found, trial.checkpoint.find("00000000-0000-4000-8000-000000000000"));
  EXPECT_REASON(Code::invalid, trial.checkpoint.find("../../etc"));
}

TEST_F(OffCluster, AnIncompleteCheckpointDoesNotExist) {
  {
    Trial trial = init(quiet()).value();
    const std::string folder = trial.checkpoint.open_store().value().folder;
    objects::write_file(folder + "/model", "half");
    EXPECT_THROW(
        static_cast<void>(trial.checkpoint.store_path(1, [](const std::string&) { throw std::runtime_error("no"); })),
        std::runtime_error);
    EXPECT_REASON(Code::invalid, trial.checkpoint.upload(folder + "/no", 1));
  }
  InitOptions options = quiet();
  options.resume = true;
  Trial trial = init(options).value();
  EXPECT_FALSE(trial.info().latest_checkpoint);
  EXPECT_TRUE(std::filesystem::is_empty(folder() + "/checkpoints"));
}

TEST_F(OffCluster, ResumingFindsTheNewestRunAndKeepsItsHyperparameters) {
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(place_.path());
  InitOptions options;
  options.show_progress = false;
  options.hyperparameters = {{"lr", 0.1}};
  options.arguments = {"lr=0.3"};
  std::string first;
  {
    Trial trial = init(options).value();
    first = trial.info().folder;
    trial.checkpoint.store_path(1, [](const std::string& path) { objects::write_file(path + "/m", "1"); }).value();
  }
  options.arguments = {};
  options.resume = true;
  {
    Trial trial = init(options).value();
    EXPECT_EQ(trial.info().folder, first);
    EXPECT_EQ(trial.info().hyperparameters.get<double>("lr"), 0.3);
    EXPECT_TRUE(trial.info().latest_checkpoint);
  }
  options.resume = false;
  {
    Trial trial = init(options).value();
    EXPECT_NE(trial.info().folder, first);
    EXPECT_EQ(trial.info().hyperparameters.get<double>("lr"), 0.1);
  }
  std::filesystem::current_path(before);
}

TEST_F(OffCluster, WhatCannotBeReportedIsRefusedAtOnce) {
  Trial trial = init(quiet()).value();
  EXPECT_REASON(Code::invalid, trial.train.report_metrics("", 1, {{"loss", 1}}));
  EXPECT_REASON(Code::invalid, trial.train.report_training(-1, {{"loss", 1}}));
  EXPECT_REASON(Code::invalid, trial.train.report_training(1, std::vector<int>{1}));
  EXPECT_REASON(Code::invalid, trial.train.report_training(1, {{"loss", std::vector<int>{1}}}));
  EXPECT_REASON(Code::invalid, trial.train.report_progress(1.5));
  EXPECT_REASON(Code::invalid, trial.train.set_status(std::string(300, 'x')));
  EXPECT_THAT(lines_of(folder() + "/metrics.jsonl"), IsEmpty());
}

TEST_F(OffCluster, AProcessHasOneTrialAtATime) {
  Trial trial = init(quiet()).value();
  InitOptions other = quiet();
  other.folder = place_.path() + "/other";
  const Outcome<Trial> second = init(other);
  EXPECT_REASON(Code::conflict, second);
  trial.close().value();
  trial.close().value();
  EXPECT_REASON(Code::conflict, trial.train.report_training(1, {{"loss", 1}}));
  static_cast<void>(init(other).value());
}

TEST_F(OffCluster, AForkedProcessGetsAnErrorThatSaysSo) {
  Trial trial = init(quiet()).value();
  trial.train.report_training(1, {{"loss", 1}}).value();
  const pid_t child = servers::fork_child([&] {
    const Outcome<void> reported = trial.train.report_training(2, {{"loss", 1}});
    const bool is_refused = !reported && reported.reason().text.find("forked") != std::string::npos;
    const Trial inherited = std::move(trial);  // its end must not touch the threads of the parent
    return is_refused ? 3 : 4;
  });
  EXPECT_EQ(servers::wait_for(child), 3);
  trial.train.report_training(3, {{"loss", 1}}).value();
  trial.close().value();
  EXPECT_THAT(lines_of(folder() + "/metrics.jsonl"), SizeIs(2));
}

TEST_F(OffCluster, OneProcessIsADistributedTrialOfOne) {
  Trial trial = init(quiet()).value();
  EXPECT_EQ(trial.distributed.size(), 1);
  EXPECT_EQ(trial.distributed.rank(), 0);
  EXPECT_EQ(trial.distributed.local_size(), 1);
  trial.distributed.barrier().value();
  const std::vector<std::byte> bytes = {std::byte{1}, std::byte{2}};
  EXPECT_EQ(trial.distributed.broadcast(bytes).value(), bytes);
  EXPECT_THAT(trial.distributed.gather(bytes).value(), ElementsAre(bytes));
  std::vector<float> numbers = {1, 2, 3};
  trial.distributed.allreduce(std::span(numbers), Reduce::mean).value();
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3));
}

TEST_F(OffCluster, SearchGivesOneLength) {
  InitOptions options = quiet();
  options.until = 30;
  Trial trial = init(options).value();
  EXPECT_EQ(trial.search.next().value(), std::optional<std::int64_t>(30));
  trial.search.report_progress(15).value();
  EXPECT_EQ(trial.search.next().value(), std::nullopt);
}

TEST_F(OffCluster, TheProfilerReportsUse) {
  Trial trial = init(quiet()).value();
  EXPECT_REASON(Code::invalid, trial.profiler.on(1ms));
  trial.profiler.on(100ms).value();
  while (lines_of(folder() + "/metrics.jsonl").empty()) std::this_thread::sleep_for(10ms);
  trial.profiler.off();
  const std::string line = lines_of(folder() + "/metrics.jsonl").front();
  EXPECT_THAT(line, HasSubstr(R"("group":"profiler")"));
  for (const char* name : {"cpu_percent", "memory_bytes", "host_memory_free_bytes", "threads"}) {
    EXPECT_THAT(line, HasSubstr("\"" + std::string(name) + "\":"));
  }
}

// On a cluster.

class OnCluster : public testing::Test {
 protected:
  FakeTrialMaster master_;
  const servers::Variable variables_[3] = {
      {"CADRE_TRIAL", "12.3"}, {"CADRE_MASTER", master_.url()}, {"CADRE_TOKEN", FakeTrialMaster::token}};
  const servers::TempDir place_;

  std::string filled(const std::string& content) const {
    objects::write_file(place_.path() + "/in/a/model", content);
    objects::write_file(place_.path() + "/in/empty", "");
    return place_.path() + "/in";
  }
};

TEST_F(OnCluster, BeginsWithWhatTheMasterKnows) {
  master_.run.hyperparameters.set("lr", describe::Value(0.25));
  master_.run.run = 4;
  master_.run.until = 100;
  master_.run.metric = "loss";
  master_.run.config = describe::parse_yaml("{name: x, data: {path: /data}}").value();
  experiment::CheckpointView checkpoint;
  checkpoint.id = experiment::CheckpointId("00000000-0000-4000-8000-000000000001");
  checkpoint.steps = 50;
  master_.run.checkpoint = checkpoint;
  InitOptions options;
  options.hyperparameters = {{"lr", 1}, {"batch", 32}};
  options.arguments = {"lr=7"};
  const Trial trial = init(options).value();
  const Info& info = trial.info();
  EXPECT_TRUE(info.on_cluster);
  EXPECT_EQ(info.trial, "12.3");
  EXPECT_EQ(info.experiment, "12");
  EXPECT_EQ(info.run, 4);
  EXPECT_EQ(info.seed, 42);
  EXPECT_EQ(info.until, 100);
  EXPECT_EQ(info.metric, "loss");
  EXPECT_EQ(info.hyperparameters.get<double>("lr"), 0.25);
  EXPECT_EQ(info.hyperparameters.get<int>("batch"), 32);
  EXPECT_EQ(info.data.get<std::string>("path"), "/data");
  EXPECT_EQ(info.latest_checkpoint.value().steps, 50);
  EXPECT_EQ(info.folder, "");
}

TEST_F(OnCluster, WaitsForAMasterThatRestarts) {
  master_.stop();
  std::thread later([this] {
    std::this_thread::sleep_for(1'500ms);
    master_.start();
  });
  const Trial trial = init().value();
  EXPECT_EQ(trial.info().seed, 42);
  later.join();
}

TEST_F(OnCluster, AnErrorOfTheMasterIsTheErrorOfInit) {
  master_.trouble("/run", {.status = 403, .why = "the run is over"});
  const Outcome<Trial> trial = init();
  EXPECT_REASON(Code::denied, trial);
  EXPECT_THAT(trial.reason().text, HasSubstr("the run is over"));
  static_cast<void>(init().value());
}

TEST_F(OnCluster, LosesNoReportWhenTheMasterRestartsOrConnectionsBreak) {
  Trial trial = init().value();
  std::vector<std::int64_t> expected;
  for (std::int64_t steps = 0; steps < 400; ++steps) {
    if (steps % 50 == 10) master_.trouble("/metrics", {.fate = FakeTrialMaster::Fate::unserved_and_cut});
    if (steps % 50 == 20) master_.trouble("/metrics", {.fate = FakeTrialMaster::Fate::served_and_cut});
    if (steps % 50 == 30) master_.trouble("/metrics", {.status = 503, .why = "the master starts"});
    if (steps % 50 == 40) master_.trouble("/metrics", {.status = 500, .why = "an error of the master"});
    if (steps == 200) {
      master_.stop();
      master_.start();
    }
    trial.train.report_training(steps, {{"loss", 0.1 * static_cast<double>(steps)}}).value();
    expected.push_back(steps);
    if (steps % 5 == 0) trial.train.flush().value();
  }
  trial.close().value();
  EXPECT_EQ(master_.steps_of("training"), expected);
}

TEST_F(OnCluster, ReportsOverOneConnection) {
  Trial trial = init().value();
  for (std::int64_t steps = 0; steps < 20; ++steps) {
    trial.train.report_training(steps, {{"loss", 1}}).value();
    trial.train.flush().value();
  }
  trial.close().value();
  master_.stop();
  EXPECT_EQ(master_.connections(), 2) << "one for reports, one for all else";
}

TEST_F(OnCluster, AnErrorOfAReportIsThatOfTheNextCall) {
  Trial trial = init().value();
  master_.trouble("/metrics", {.status = 403, .why = "the run 1 is over; run 2 has begun"});
  trial.train.report_training(1, {{"loss", 1}}).value();
  const Outcome<void> flushed = trial.train.flush();
  EXPECT_REASON(Code::denied, flushed);
  EXPECT_THAT(flushed.reason().text, HasSubstr("run 2 has begun"));
  EXPECT_REASON(Code::denied, trial.train.report_training(2, {{"loss", 1}}));
  EXPECT_REASON(Code::denied, trial.close());
}

TEST_F(OnCluster, AFaultOfAStoredReportIsShown) {
  master_.fault = "the validation at step 1 has no metric `loss`";
  Trial trial = init().value();
  trial.train.report_validation(1, {{"accuracy", 1}}).value();
  const Outcome<void> flushed = trial.train.flush();
  EXPECT_REASON(Code::invalid, flushed);
  EXPECT_EQ(flushed.reason().text, master_.fault);
  trial.close().value();
}

TEST_F(OnCluster, DeclaresInvalidHyperparametersAfterAllReports) {
  Trial trial = init().value();
  trial.train.report_training(1, {{"loss", 1}}).value();
  trial.train.invalid_hyperparameters().value();
  EXPECT_THAT(master_.steps_of("training"), ElementsAre(1));
  ASSERT_THAT(master_.news(), SizeIs(1));
  EXPECT_TRUE(master_.news().front().invalid_hyperparameters);
}

TEST_F(OnCluster, AcknowledgesAStopAfterAllReports) {
  const std::string path = place_.path() + "/task.sock";
  const servers::Variable socket{"CADRE_SOCKET", path};
  const FakeSupervisor supervisor(path);
  Trial trial = init().value();
  EXPECT_FALSE(supervisor.is_called(0)) << "a program that does not look for stop requests gets a signal";
  EXPECT_FALSE(trial.preempt.should_stop());
  const Caller task = supervisor.answer_attach();
  task.say(messages::StopNotice{cluster::lease::Reason::preempted, 1h});
  while (!trial.preempt.should_stop()) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(trial.preempt.stop()->why, "preempted");
  trial.train.report_training(1, {{"loss", 1}}).value();
  trial.preempt.acknowledge().value();
  EXPECT_THAT(master_.served(), ElementsAre("trials/run", "trials/metrics", "trials/state"));
  EXPECT_TRUE(master_.news().front().acknowledges_stop);
}

TEST_F(OnCluster, SavesAndRestoresCheckpoints) {
  Trial trial = init().value();
  trial.train.report_training(5, {{"loss", 1}}).value();
  std::string large;
  for (std::size_t i = 0; i < (20U << 20); ++i) large += static_cast<char>(i * 7919 >> 5);
  const std::string uuid = trial.checkpoint.upload(filled(large), 5, {{"epoch", 2}}).value();
  EXPECT_THAT(master_.steps_of("training"), ElementsAre(5)) << "before the checkpoint";
  ASSERT_TRUE(master_.checkpoints().contains(uuid));
  const experiment::CheckpointView view = master_.checkpoints().at(uuid);
  EXPECT_EQ(view.steps, 5);
  EXPECT_EQ(view.files.size(), 2U);
  EXPECT_EQ(master_.files_of(uuid).at("a/model"), large);
  trial.checkpoint.download(uuid, place_.path() + "/out").value();
  EXPECT_EQ(read_whole(place_.path() + "/out/a/model"), large);
  EXPECT_EQ(read_whole(place_.path() + "/out/empty"), "");
  std::string seen;
  trial.checkpoint.restore_path(uuid, [&](const std::string& path) { seen = path; }).value();
  EXPECT_FALSE(std::filesystem::exists(seen));
  EXPECT_EQ(trial.checkpoint.find(uuid).value().metadata.get<int>("epoch"), 2);
}

TEST_F(OnCluster, UploadsThroughLostPartsAndConnections) {
  Trial trial = init().value();
  using Fate = FakeTrialMaster::Fate;
  master_.trouble("/files", {.fate = Fate::served_and_cut});
  master_.trouble("/files", {.status = 503, .why = "the master starts"});
  master_.trouble("/files", {.fate = Fate::unserved_and_cut});
  const std::string content(30 << 20, 'x');
  std::thread breaker([this] {
    while (master_.served().size() < 5) std::this_thread::sleep_for(1ms);
    master_.stop();
    master_.lose_parts();
    master_.start();
  });
  const std::string uuid = trial.checkpoint.upload(filled(content), 5).value();
  breaker.join();
  EXPECT_EQ(master_.files_of(uuid).at("a/model"), content);
}

TEST_F(OnCluster, ADamagedFileIsNotRestored) {
  Trial trial = init().value();
  const std::string uuid = trial.checkpoint.upload(filled("weights"), 5).value();
  master_.put_file(uuid, "a/model", "weighty");
  const Outcome<void> downloaded = trial.checkpoint.download(uuid, place_.path() + "/out");
  EXPECT_REASON(Code::corrupt, downloaded);
  EXPECT_THAT(downloaded.reason().text, HasSubstr("a/model does not have the expected hash"));
  EXPECT_FALSE(std::filesystem::exists(place_.path() + "/out/a/model"));
}

TEST_F(OnCluster, SearchAsksForTheNextLengthAfterAllReports) {
  master_.run.until = 10;
  Trial trial = init().value();
  EXPECT_EQ(trial.search.next().value(), std::optional<std::int64_t>(10));
  trial.train.report_validation(10, {{"loss", 1}}).value();
  master_.run.until = 40;
  EXPECT_EQ(trial.search.next().value(), std::optional<std::int64_t>(40));
  EXPECT_EQ(trial.search.until(), 40);
  EXPECT_THAT(master_.served(), ElementsAre("trials/run", "trials/metrics", "trials/run"));
  EXPECT_EQ(trial.search.next().value(), std::nullopt);
}

}  // namespace
}  // namespace cadre::core
