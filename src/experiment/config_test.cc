#include "experiment/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "describe/python_for_tests.h"

namespace cadre::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string smallest = "name: mnist\nentrypoint: python3 train.py\nsearcher: {type: single, metric: loss}\n";

std::string faults_of(const std::string& yaml) {
  const auto read = read_config_file(yaml);
  return read ? "" : describe::to_text(read.error(), "f.yaml");
}

TEST(ExperimentFile, HasDefaultsForAllButNameEntrypointAndSearcher) {
  const auto read = read_config_file(smallest);
  ASSERT_TRUE(read) << describe::to_text(read.error(), "");
  const Config& config = read->config;
  EXPECT_EQ(config.resources.slots_per_trial, 1);
  EXPECT_EQ(config.max_restarts, 5);
  EXPECT_EQ(config.checkpoints, (Retention{"default", 0, 1, 1}));
  EXPECT_EQ(config.time_metric, "steps");
  EXPECT_FALSE(config.length);
  EXPECT_FALSE(config.seed);
  EXPECT_TRUE(read->space.parameters().empty());
  EXPECT_THAT(argv_of(config.entrypoint), ElementsAre("/bin/sh", "-c", "python3 train.py"));
  EXPECT_EQ(faults_of("{}"),
            "f.yaml:1:1: name: is required: Name, for display.\n"
            "f.yaml:1:1: entrypoint: is required: Command of each task of a trial: text for a shell, or a list of "
            "arguments.\n"
            "f.yaml:1:1: searcher: is required: Search method.\n");
}

TEST(ExperimentFile, ReadsAllOfItsKeys) {
  const auto read = read_config_file(R"(
name: mnist
description: digits
labels: [vision, small]
workspace: lab
project: digits
entrypoint: [python3, train.py, --fast]
environment: {variables: {A: b}, python: /opt/venv, setup: [make], folder: /tmp, isolation: off}
mounts: [{host_path: /data, path: /data}, {host_path: /out, path: /out, read_only: false}]
hyperparameters:
  lr: {type: log, min: -4, max: -1}
  model: {layers: {type: int, min: 1, max: 4}, name: resnet}
searcher: {type: asha, metric: accuracy, smaller_is_better: false, max_trials: 16, max_time: 1000, start_with: [{lr: 0.01}]}
time_metric: epochs
resources: {slots_per_trial: 2, cpus: 4, memory: 8GiB, pool: gpus, priority: 10, weight: 2, max_slots: 8, uneven: true}
max_restarts: 2
checkpoints: {store: s3, save_experiment_best: 3, save_trial_best: 0, save_trial_latest: 2}
validate_every: 100
checkpoint_every: 500
seed: 4294967295
preemption_grace: 10m
log_policies: [{pattern: "out of memory", action: cancel_retries}]
data: {path: /data/mnist}
)");
  ASSERT_TRUE(read) << describe::to_text(read.error(), "");
  EXPECT_EQ(read->config.seed, 4'294'967'295U);
  EXPECT_FALSE(read->config.mounts.at(1).read_only);
  EXPECT_EQ(read->space.parameters().size(), 3U);
  EXPECT_EQ(std::get<search::Asha>(read->config.searcher).max_trials, 16);
  EXPECT_THAT(argv_of(read->config.entrypoint), ElementsAre("python3", "train.py", "--fast"));
  EXPECT_TRUE(read_config(describe::write(read->config))) << "what is written can be read";
}

TEST(ExperimentFile, TakesLogPoliciesAsAMap) {
  const auto read = read_config_file(smallest + "log_policies: {'CUDA error': exclude_agent, OOM: cancel_retries}\n");
  ASSERT_TRUE(read) << describe::to_text(read.error(), "");
  ASSERT_EQ(read->config.log_policies.size(), 2U);
  EXPECT_EQ(read->config.log_policies[0].pattern, "CUDA error");
  EXPECT_EQ(read->config.log_policies[0].action, LogAction::exclude_agent);
  EXPECT_THAT(faults_of(smallest + "log_policies:\n  'a(b': exclude_agent\n  c: retry\n"),
              testing::AllOf(HasSubstr("f.yaml:5:3: log_policies[0].pattern: is not a regular expression: it has"),
                             HasSubstr("f.yaml:6:6: log_policies[1].action: \"retry\" is not")));
}

TEST(ExperimentFile, ReportsAllFaultsAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(faults_of(R"(name: "a\tb"
entrypoint: [python3, 7]
lables: [x]
labels: ["", x]
hyperparameters:
  lr: {type: log, min: -1, max: -4}
  n: {type: int, min: 1, max: 4}
searcher: {type: random, metric: "", max_trials: 0, sampler: {type: tpe, gama: 1}}
resources: {slots_per_trial: 4, max_slots: 2}
log_policies: [{pattern: "[", action: exclude_agent}]
data: 5
)"),
            "f.yaml:1:7: name: has control characters; remove them\n"
            "f.yaml:2:23: entrypoint[1]: expected text, found the number 7; put it in quotes\n"
            "f.yaml:3:1: lables: is not a known key; did you mean 'labels'?\n"
            "f.yaml:4:10: labels[0]: is empty; remove it\n"
            "f.yaml:6:24: hyperparameters.lr.min: must not exceed max; lower min or raise max\n"
            "f.yaml:8:34: searcher.metric: must not be empty\n"
            "f.yaml:8:50: searcher.max_trials: must be from 1 to 1000000, is 0\n"
            "f.yaml:8:74: searcher.sampler.gama: is not a known key; did you mean 'gamma'?\n"
            "f.yaml:9:44: resources.max_slots: is less than slots_per_trial, so that no trial could run; raise it\n"
            "f.yaml:10:26: log_policies[0].pattern: is not a regular expression: it has a [ "
            "without a ] at character 2\n"
            "f.yaml:11:7: data: expected a map, found the number 5\n");
}

TEST(ExperimentFile, FindsWhatIsWrongBetweenSearcherAndHyperparameters) {
  const std::string head = "name: a\nentrypoint: b\n";
  EXPECT_EQ(faults_of(head + "length: 5\nsearcher: {type: asha, metric: m, max_trials: 2, max_time: 9}\n"),
            "f.yaml:3:9: length: is set by max_time of the searcher; remove it\n");
  EXPECT_EQ(
      faults_of(head + "hyperparameters: {m: {lr: {type: log, min: -4, max: -1}}}\n"
                       "searcher: {type: grid, metric: m}\n"),
      "f.yaml:3:27: hyperparameters.m.lr: needs a count: a grid must know how many values of this range it has\n");
  EXPECT_EQ(faults_of(head + "hyperparameters: {n: {type: int, min: 1, max: 4}}\n"
                             "searcher:\n"
                             "  type: random\n  metric: m\n  max_trials: 2\n"
                             "  start_with: [{n: 9}, {k: 1}, 7]\n"),
            "f.yaml:8:15: searcher.start_with: has 3 points for 2 trials; remove some, or raise the number of trials\n"
            "f.yaml:8:20: searcher.start_with[0].n: is the number 9, which this hyperparameter never has; use one of "
            "its values, or extend its range\n"
            "f.yaml:8:28: searcher.start_with[1].k: is not a hyperparameter; did you mean 'n'?\n"
            "f.yaml:8:32: searcher.start_with[2]: expected a map, found the number 7\n");
}

TEST(ExperimentFile, RefusesVariablesThatCadreSets) {
  EXPECT_THAT(faults_of(smallest + "environment: {variables: {CADRE_TASK: x}}\n"),
              HasSubstr("f.yaml:4:26: environment.variables: has an invalid name"));
}

/// What the schema, which editors use, says of a file.
bool is_accepted_by_schema(const describe::Value& file) {
  describe::Value input;
  input.set("schema",
            describe::parse_json(describe::file_text(CADRE_SOURCE_DIR "/schema/experiment.schema.json")).value());
  input.set("file", file);
  return describe::run_python(R"(
import json, sys, jsonschema
given = json.load(sys.stdin)
jsonschema.Draft202012Validator.check_schema(given["schema"])
print(jsonschema.Draft202012Validator(given["schema"]).is_valid(given["file"]))
)",
                              describe::to_json(input)) == "True\n";
}

TEST(ExperimentFile, HasASchemaThatAcceptsTheExamplesAndRefusesFaults) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CADRE_SOURCE_DIR "/examples/experiments")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto tree = describe::parse_yaml(describe::file_text(entry.path()));
    ASSERT_TRUE(tree);
    EXPECT_TRUE(is_accepted_by_schema(*tree)) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 3U);
  const auto with = [](const std::string& more) { return describe::parse_yaml(smallest + more).value(); };
  EXPECT_TRUE(
      is_accepted_by_schema(with("hyperparameters: {a: {b: {c: {type: int, min: 1, max: 2}}, when: {d: 1}}, d: 1}\n")));
  EXPECT_TRUE(is_accepted_by_schema(with("log_policies: {OOM: cancel_retries}\n")));
  EXPECT_FALSE(is_accepted_by_schema(with("hyperparameters: {a: {b: {type: int, min: 1}}}\n")));
  EXPECT_FALSE(is_accepted_by_schema(with("hyperparameters: {a: {type: lag}}\n")));
  EXPECT_FALSE(is_accepted_by_schema(with("log_policies: {OOM: retry}\n")));
  EXPECT_FALSE(is_accepted_by_schema(with("lables: [a]\n")));
}

}  // namespace
}  // namespace cadre::experiment
