#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/commands/experiment/experiment_file.h"
#include "cli/program_test.h"
#include "describe/describe.h"
#include "search/simulation.h"
#include "tests/servers/scratch.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string halving =
    "name: a\nentrypoint: b\n"
    "hyperparameters: {lr: {type: log, min: -4, max: -1}, opt: {type: categorical, values: [sgd, adam]}}\n"
    "searcher: {type: asha, metric: loss, max_trials: 64, max_time: 256}\n";

class Experiments : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::string experiment(const std::string& text = halving) const { return file("e.yaml", text); }
  /// Without the folder, which has another name in each run.
  std::string plain(std::string text) const {
    for (std::size_t at = 0; (at = text.find(folder_.path() + "/")) != std::string::npos;) {
      text.erase(at, folder_.path().size() + 1);
    }
    return text;
  }

 private:
  servers::TempDir folder_;
};

TEST_F(Experiments, CheckReportsAllErrorsWithPlacesAndRemedies) {
  const Said good = cadre({"experiment", "check", experiment()});
  EXPECT_EQ(good.code, done) << good.err;
  EXPECT_EQ(good.out, "no errors: asha, 2 hyperparameters, 64 trials\n");

  const Said bad = cadre({"experiment", "check",
                          experiment("name: a\nentrypint: b\nhyperparameters: {lr: {type: lag}}\n"
                                     "searcher: {type: random, metric: m, max_trials: 0}\n")});
  EXPECT_EQ(bad.code, bad_usage);
  EXPECT_EQ(bad.out, "");
  EXPECT_EQ(plain(bad.err),
            "e.yaml:1:1: entrypoint: is required: Command of each task of a trial: text for a shell, or a list of "
            "arguments.\n"
            "e.yaml:2:1: entrypint: is not a known key; did you mean 'entrypoint'?\n"
            "e.yaml:3:30: hyperparameters.lr.type: \"lag\" is not a known choice; did you mean 'log'?\n"
            "e.yaml:4:49: searcher.max_trials: must be from 1 to 1000000, is 0\n"
            "cadre experiment check: 4 errors in e.yaml; for the format, see docs/reference/experiment-file.md\n");

  const Said syntax = cadre({"experiment", "check", experiment("name: [\n")});
  EXPECT_EQ(syntax.code, bad_usage);
  EXPECT_THAT(plain(syntax.err), AllOf(StartsWith("e.yaml:"), HasSubstr("1 error in e.yaml")));
  const Said missing = cadre({"experiment", "check", "/no/such/file"});
  EXPECT_EQ(missing.code, bad_usage);
  EXPECT_THAT(missing.err, HasSubstr("cannot read /no/such/file"));
}

TEST_F(Experiments, CreateWarnsOfAFileOfTheEntrypointThatNoFolderContains) {
  const auto create = [&](const std::string& entrypoint, std::vector<std::string> more) {
    std::vector<std::string> words{"experiment", "create", "--master", file("no-master", ""),
                                   experiment("name: a\nsearcher: {type: single, metric: m}\n" + entrypoint + "\n")};
    words.insert(words.end(), more.begin(), more.end());
    const Said said = cadre(words);
    EXPECT_NE(said.code, done) << "there is no master";
    return said.err;
  };
  for (const std::string entrypoint :
       {"entrypoint: OMP_NUM_THREADS=1 python3 train.py --file other.py", "entrypoint: [python3, -u, train.py]",
        "entrypoint: 'true && (python3 \"train.py\")'"}) {
    EXPECT_THAT(create(entrypoint, {}),
                StartsWith("cadre experiment create: warning: no folder with code was given, so trials will not find "
                           "train.py, which the entrypoint names; pass the folder that contains it as DIR\n"));
  }
  EXPECT_THAT(create("entrypoint: ./run", {}), HasSubstr("find ./run, which"));
  EXPECT_THAT(create("entrypoint: python3 train.py", {"/tmp"}), Not(HasSubstr("warning")));
  for (const std::string entrypoint :
       {"entrypoint: python3 /opt/train.py", "entrypoint: cd /opt && python3 train.py", "entrypoint: train",
        "entrypoint: [python3, -c, 'open(\"a.py\") or b.py']", "entrypoint: python3 $HOME/train.py",
        "entrypoint: python3 train.py\nenvironment: {folder: /opt}",
        "entrypoint: python3 train.py\nenvironment: {setup: [git clone x .]}"}) {
    EXPECT_THAT(create(entrypoint, {}), Not(HasSubstr("warning"))) << entrypoint;
  }
}

TEST_F(Experiments, SetChangesKeysAndErrorsNameTheSetting) {
  const auto check = [&](std::vector<std::string> settings) {
    std::vector<std::string> words{"experiment", "check", experiment()};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    return cadre(words);
  };
  EXPECT_EQ(check({"searcher={type: grid, metric: m}", "hyperparameters.lr=0.1"}).out,
            "no errors: grid, 2 hyperparameters, 2 trials\n");
  EXPECT_EQ(check({"searcher.max_trials=9", "searcher.max_trials=8"}).out,
            "no errors: asha, 2 hyperparameters, 8 trials\n")
      << "the last one counts";
  const Said bad = check({"searcher.max_trials=none", "resources.slots_per_trial=-1", "searcher.sampler.type=tpe"});
  EXPECT_EQ(bad.code, bad_usage);
  EXPECT_THAT(bad.err,
              AllOf(HasSubstr("--set searcher.max_trials: expected a whole number"),
                    HasSubstr("--set resources.slots_per_trial: must be from 0"), HasSubstr(": 2 errors in ")));
  EXPECT_THAT(check({"environment.variables.STEP=2"}).err,
              HasSubstr("quote it for the shell too: --set 'environment.variables.STEP=\"2\"'\n"));
  EXPECT_EQ(check({"environment.variables.STEP=\"2\""}).code, done);
  EXPECT_THAT(check({"searcher"}).err, HasSubstr("--set searcher: is not of the form KEY=VALUE"));
  EXPECT_THAT(check({"name.first=a"}).err, HasSubstr("--set name.first=a: name is text \"a\", which has no keys"));
  EXPECT_THAT(check({"labels=[a]", "labels.1=b"}).err, HasSubstr("labels is a list of 1; name one of its values"));
  EXPECT_THAT(check({"data.a..b=1"}).err, HasSubstr("--set data.a..b=1: a key is empty"));
  EXPECT_THAT(check({"data=[1"}).err, HasSubstr("--set data=[1: "));
  EXPECT_EQ(check({"labels=[a, c]", "labels.1=b", "data.x.y=1", "description="}).code, bad_usage);
  EXPECT_EQ(check({"labels=[a, c]", "labels.1=b", "data.x.y=1", "length="}).code, done);
}

TEST_F(Experiments, SettingsAreValuesOfYaml) {
  describe::Value tree = describe::parse_yaml("{a: {b: [1, {c: 2}]}}").value();
  const std::pair<const char*, const char*> settings[] = {
      {"a.b.0", "text"}, {"a.b.1.c", "[1, 2.5]"}, {"a.d", "true"}, {"e.f", "null"}, {"g", "x=y"}};
  for (const auto& [path, value] : settings) {
    EXPECT_EQ(put_setting(tree, path, describe::parse_yaml(value).value()), "") << path;
  }
  EXPECT_EQ(describe::to_json(tree), R"({"a":{"b":["text",{"c":[1,2.5]}],"d":true},"e":{"f":null},"g":"x=y"})");
}

TEST_F(Experiments, PreviewShowsHowManyTrialsRunHowFar) {
  const Said json = cadre({"experiment", "preview", "--json", experiment()});
  EXPECT_EQ(json.code, done) << json.err;
  EXPECT_EQ(json.out,
            R"({"brackets":[{"rungs":4,"trials":45,"concurrent":6},{"rungs":3,"trials":14,"concurrent":5},)"
            R"({"rungs":2,"trials":5,"concurrent":5}],"trials":[{"count":34,"length":4},{"count":20,"length":16},)"
            R"({"count":7,"length":64},{"count":3,"length":256}]})"
            "\n");
  EXPECT_EQ(cadre({"experiment", "preview", experiment()}).out,
            "BRACKET  RUNGS  TRIALS  AT A TIME\n"
            "0        4      45      6\n"
            "1        3      14      5\n"
            "2        2      5       5\n"
            "\n"
            "TRIALS  LENGTH\n"
            "34      4 steps\n"
            "20      16 steps\n"
            "7       64 steps\n"
            "3       256 steps\n"
            "\n"
            "64 trials train 1672 steps in all, 10 % of what they would without early stopping.\n");
  const std::vector<std::string> random{"--set", "searcher={type: random, metric: m, max_trials: 3}"};
  std::vector<std::string> words{"experiment", "preview", experiment()};
  words.insert(words.end(), random.begin(), random.end());
  EXPECT_EQ(cadre(words).out, "TRIALS  LENGTH\n3       until the program ends\n");
  EXPECT_EQ(cadre({"experiment", "preview", "--json", "--set", "searcher={type: custom, metric: m}", experiment()}).out,
            "{\"brackets\":[],\"trials\":[]}\n");
}

std::vector<search::SimulatedTrial> trials_in(const Said& said) {
  EXPECT_EQ(said.code, done) << said.err;
  const auto read = describe::read_json<std::vector<search::SimulatedTrial>>(said.out);
  EXPECT_TRUE(read) << said.out;
  return read ? *read : std::vector<search::SimulatedTrial>();
}

const std::string small =
    "name: a\nentrypoint: b\nhyperparameters: {x: {type: int, min: 1, max: 99}}\n"
    "searcher: {type: asha, metric: loss, mode: aggressive, max_trials: 4, max_time: 4, max_concurrent_trials: 2}\n";

TEST_F(Experiments, SimulateTakesMetricsByTrialAndReport) {
  const std::string metrics = file("m.json", "[3, [5, 1], NaN]");
  const Said said = cadre({"experiment", "simulate", "--metrics", metrics, "--json", experiment(small)});
  EXPECT_EQ(said.code, done) << said.err;
  // 0 reports 3 and goes on; 1 and 2 are worse; 3, which reuses the first entry, is as good as 0.
  EXPECT_EQ(said.out, R"([{"trial":0,"hyperparameters":{"x":45},"stopped_at":4,"reports":2},)"
                      R"({"trial":1,"hyperparameters":{"x":65},"stopped_at":1,"reports":1},)"
                      R"({"trial":2,"hyperparameters":{"x":68},"stopped_at":1,"reports":1},)"
                      R"({"trial":3,"hyperparameters":{"x":10},"stopped_at":4,"reports":2}])"
                      "\n");
  const Said other =
      cadre({"experiment", "simulate", "--metrics", metrics, "--json", "--seed", "5", experiment(small)});
  EXPECT_NE(other.out, said.out);
  const auto every = trials_in(cadre({"experiment", "simulate", "--metrics", metrics, "--json", "--every", "2",
                                      "--order", "sequential", experiment(small)}));
  ASSERT_EQ(every.size(), 4U);
  EXPECT_EQ(every[0].reports, 2) << "at 2 and 4";
  EXPECT_EQ(every[1].stopped_at, 2);
}

TEST_F(Experiments, SimulateSaysWhatIsWrongWithMetrics) {
  const auto said_of = [&](const std::string& json) {
    const Said said = cadre({"experiment", "simulate", "--metrics", file("m.json", json), experiment(small)});
    EXPECT_EQ(said.code, bad_usage);
    return plain(said.err);
  };
  EXPECT_THAT(said_of("[1, x, [2, true], []]"),
              AllOf(HasSubstr("m.json:1:5: [1]: expected a number"),
                    HasSubstr("m.json:1:12: [2][1]: expected a number"), HasSubstr("m.json:1:19: [3]: is empty")));
  EXPECT_THAT(said_of("[]"), HasSubstr("m.json:1:1: is empty"));
  EXPECT_THAT(said_of("{}"), HasSubstr("m.json:1:1: expected a list"));
  EXPECT_THAT(cadre({"experiment", "simulate", experiment(small)}).err, HasSubstr("give one of --metrics"));
  EXPECT_THAT(cadre({"experiment", "simulate", "--metrics", "m", "--function", "1", experiment(small)}).err,
              HasSubstr("give one of --metrics"));
  EXPECT_EQ(cadre({"experiment", "simulate", "--function", "1", "--every", "0", experiment(small)}).code, bad_usage);
}

TEST_F(Experiments, SimulateCalculatesAFunction) {
  const auto trials =
      trials_in(cadre({"experiment", "simulate", "--function", "x + 1 / time", "--json", experiment(small)}));
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(trials[0].best_metric, 45.25) << "x is 45, and the last report came at 4";
  const Said text = cadre({"experiment", "simulate", "--function", "x", experiment(small)});
  EXPECT_EQ(text.out,
            "TRIAL  STOPPED AT  REPORTS  BEST METRIC  HYPERPARAMETERS\n"
            "0      4           2        45           x=45\n"
            "1      1           1        65           x=65\n"
            "2      1           1        68           x=68\n"
            "3      4           2        10           x=10\n"
            "\n"
            "4 trials, 10 steps in all.\n"
            "Best: trial 3 with loss = 10.\n");
  const Said bad = cadre({"experiment", "simulate", "--function", "y + 1", experiment(small)});
  EXPECT_EQ(bad.code, bad_usage);
  EXPECT_EQ(bad.err,
            "cadre experiment simulate: --function: column 1: there is no hyperparameter 'y'; did you mean 'x'?\n");
  const Said endless = cadre({"experiment", "simulate", "--function", "1", "--set",
                              "searcher={type: pbt, metric: m, interval: 5}", experiment(small)});
  EXPECT_EQ(endless.code, bad_usage);
  EXPECT_THAT(endless.err, HasSubstr("set length in the file"));
}

TEST_F(Experiments, SimulateRunsAProgramForEachTrial) {
  const std::string count = file("count", "");
  const std::string program = "echo run >> " + count +
                              "; [ \"$(cat)\" = \"$CADRE_HYPERPARAMETERS\" ] || exit 9; "
                              "echo \"$CADRE_HYPERPARAMETERS\" | tr -dc 0-9; echo; echo $CADRE_TRIAL_NUMBER.5";
  const auto trials = trials_in(cadre({"experiment", "simulate", "--command", program, "--json", experiment(small)}));
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(trials[0].best_metric, 0.5) << "of its second report";
  EXPECT_EQ(trials[1].best_metric, 65) << "of its only report, which is its hyperparameter";
  std::ifstream lines(count);
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(lines), {}, '\n'), 4) << "once for each trial";
}

TEST_F(Experiments, SimulateEndsWhenAProgramFails) {
  const auto said_of = [&](const std::string& program, const std::string& timeout = "10s") {
    const Said said = cadre({"experiment", "simulate", "--command", program, "--timeout", timeout, experiment(small)});
    EXPECT_NE(said.code, done);
    EXPECT_EQ(said.out, "");
    return said;
  };
  const Said failed_program = said_of("exit 3");
  EXPECT_EQ(failed_program.code, failed);
  EXPECT_EQ(failed_program.err,
            "cadre experiment simulate: the program of trial 0 has failed with exit code 3; its hyperparameters are "
            "{\"x\":45}\n");
  EXPECT_THAT(said_of("kill -9 $$").err, HasSubstr("was killed by signal 9"));
  EXPECT_THAT(said_of("true").err, HasSubstr("has printed no number"));
  EXPECT_THAT(said_of("echo 1 two").err, HasSubstr("has printed \"two\", which is not a number"));
  EXPECT_THAT(said_of("yes").err, HasSubstr("has printed more than 64 KiB"));
  EXPECT_THAT(said_of("no-such-program-here").err, HasSubstr("has failed with exit code 127"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(said_of("sleep 60 & sleep 60", "200ms").err, HasSubstr("has not ended after 0.2 s; raise --timeout"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  EXPECT_EQ(trials_in(cadre({"experiment", "simulate", "--command", "sleep 60 & echo 1", "--json", experiment(small)}))
                .size(),
            4U)
      << "what a program leaves behind is not waited for";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

/// The examples, as the guide names them: what they would do, and what they do with a metric.
TEST(ExampleExperiments, DoWhatTheyDid) {
  const std::pair<const char*, const char*> examples[] = {
      {"quickstart", "(log10(lr) + 2.5)^2 + layers / 10 + batch / 100"},
      {"search", "(log10(lr) + 2)^2 + abs(layers - 3) + 1 / time"},
      {"grid", "lr + (has(momentum) ? momentum : 1)"},
      {"halving", "abs(log10(lr) + 2) + model.layers / time"},
      {"tpe", "(y - 5.1 / (4 * pi^2) * x^2 + 5 / pi * x - 6)^2 + 10 * (1 - 1 / (8 * pi)) * cos(x) + 10"},
      {"population", "time * (1 - dropout) - abs(log10(lr) + 3)"},
      {"early_stopping", "(log10(lr) + 2)^2 + abs(layers - 3) + 1 / time"},
      {"digits", "(log10(lr) + 2)^2 + dropout + abs(momentum - 0.5) + 10 / hidden + batch / 100 + 1 / time"},
      {"cpp", "(log10(lr) + 1)^2 + momentum + 1 / time"},
  };
  const std::string root(CADRE_SOURCE_DIR);
  const auto compare = [&](const std::string& name, const Said& said) {
    EXPECT_EQ(said.code, done) << said.err;
    const std::string path = root + "/tests/golden/experiments/" + name;
    if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << said.out;
    std::ifstream golden(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(golden), {}), said.out) << path;
  };
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root + "/examples/experiments")) {
    files += entry.path().extension() == ".yaml" ? 1 : 0;
  }
  EXPECT_EQ(files, std::size(examples)) << "each example is tested";
  for (const auto& [name, function] : examples) {
    const std::string file = root + "/examples/experiments/" + name + ".yaml";
    EXPECT_EQ(cadre({"experiment", "check", file}).code, done);
    compare(std::string(name) + ".preview.txt", cadre({"experiment", "preview", file}));
    compare(std::string(name) + ".preview.json", cadre({"experiment", "preview", "--json", file}));
    compare(std::string(name) + ".simulate.txt", cadre({"experiment", "simulate", "--function", function, file}));
  }
}

}  // namespace
}  // namespace cadre::cli
