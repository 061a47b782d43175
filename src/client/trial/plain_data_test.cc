#include "client/trial/plain_data.h"

#include <gmock/gmock.h>

#include <fstream>
#include <limits>

#include "describe/describe.h"
#include "tests/servers/results.h"
#include "tests/servers/scratch.h"

namespace cadre::client {
namespace {

using describe::Value;
using testing::ElementsAre;
using testing::HasSubstr;

Value yaml(const std::string& text) { return describe::parse_yaml(text).value(); }
std::string json(const Result<Value>& value) { return value ? describe::to_json(*value) : value.error().message; }

TEST(Metrics, AreNumbersTextTruthsAndMapsOfThem) {
  ASSERT_DONE(check_metrics(yaml("{loss: 0.5, steps: 3, name: a, ok: true, by_class: {cat: .nan, dog: .inf}}")));
  const std::pair<std::string, std::string> wrong[] = {
      {"{loss: null}", "the metric loss is null"},
      {"{by_class: {cat: [1, 2]}}", "the metric by_class.cat is a list"},
      {"{'': 1}", "a metric has an empty name"},
      {"{" + std::string(600, 'x') + ": 1}", "is too long"},
  };
  for (const auto& [text, why] : wrong) {
    const Result<void> checked = check_metrics(yaml(text));
    EXPECT_ERROR(Errc::invalid, checked);
    EXPECT_THAT(checked.error().message, HasSubstr(why));
  }
}

TEST(Metrics, ThatAreNotFiniteAreTextsOfTheContract) {
  Value metrics;
  metrics.set("a", Value(std::numeric_limits<double>::quiet_NaN()));
  metrics.set("b", Value(-std::numeric_limits<double>::infinity()));
  EXPECT_EQ(describe::to_json(read_map(describe::to_msgpack(metrics), "metrics").value()),
            R"({"a":"NaN","b":"-Infinity"})");
}

TEST(Maps, AreRequired) {
  EXPECT_ERROR(Errc::invalid, read_map(describe::to_msgpack(Value(3)), "the metrics"));
  EXPECT_ERROR(Errc::invalid, read_map(as_bytes("\xc1"), "the metrics"));
}

TEST(Hyperparameters, AreReplacedInTheOrderOfTheirSources) {
  const servers::TempDir folder;
  const std::string file = folder.path() + "/hp.yaml";
  std::ofstream(file) << "lr: 0.1\nbatch: 32\noptimizer: {name: sgd, momentum: 0.9}\n";
  const GivenHyperparameters given{file,
                                   R"({"batch": 64, "optimizer": {"momentum": 0.5}})",
                                   {"lr=0.01", "optimizer.name=adam", "unknown=1", "train.py", "--x=1"}};
  EXPECT_EQ(json(read_hyperparameters(yaml("{seed: 1}"), given)),
            R"({"lr":0.01,"batch":64,"optimizer":{"name":"adam","momentum":0.5}})");
}

TEST(Hyperparameters, OfWordsAreThoseThatAreKnown) {
  const GivenHyperparameters given{"", "", {"seed=7", "layers=[1, 2]", "name=a b", "other=1"}};
  EXPECT_EQ(json(read_hyperparameters(yaml("{seed: 1, layers: [], name: x}"), given)),
            R"({"seed":7,"layers":[1,2],"name":"a b"})");
}

TEST(Hyperparameters, ThatAreMistypedAreDoubted) {
  const Value names = yaml("{lr: 0.1, batch_size: 32, optimizer: {momentum: 0.9}}");
  EXPECT_THAT(doubtful_words(names, {"lrr=0.5", "--lr", "0.5", "--batch-size=64", "optimizer.momentun=1", "--lr"}),
              ElementsAre("'lrr=0.5' sets no hyperparameter: did you mean 'lr'?",
                          "'--lr' does not set the hyperparameter lr; write lr=0.5",
                          "'--batch-size' does not set the hyperparameter batch_size; write batch_size=64",
                          "'optimizer.momentun=1' sets no hyperparameter: did you mean 'optimizer.momentum'?",
                          "'--lr' does not set the hyperparameter lr; write lr=VALUE"));
  EXPECT_THAT(doubtful_words(names, {"purple=1"}), ElementsAre(HasSubstr("the known ones are: lr, batch_size")));
}

TEST(Hyperparameters, WordsOfTheProgramAreNotDoubted) {
  const Value names = yaml("{lr: 0.1, layers: 2}");
  EXPECT_THAT(doubtful_words(names, {"train.py", "lr=0.5", "--data=/data", "--verbose", "/data/a=b", "-x", "=1"}),
              ElementsAre());
  EXPECT_THAT(doubtful_words(names, {"--lr", "0.1", "--layers=2"}), ElementsAre()) << "the program has parsed these";
  EXPECT_THAT(doubtful_words(yaml("{}"), {"lr=0.5"}), ElementsAre());
}

TEST(Hyperparameters, ThatCannotBeReadAreNamed) {
  const servers::TempDir folder;
  const std::string file = folder.path() + "/hp.yaml";
  std::ofstream(file) << "- 1\n";
  EXPECT_THAT(json(read_hyperparameters(Value(), {file, "", {}})), HasSubstr(file + " must be a map"));
  EXPECT_THAT(json(read_hyperparameters(Value(), {folder.path() + "/no", "", {}})), HasSubstr("No such file"));
  EXPECT_THAT(json(read_hyperparameters(Value(), {"", "{", {}})), HasSubstr("CADRE_HYPERPARAMETERS"));
}

}  // namespace
}  // namespace cadre::client
