#include "search/expression.h"

#include <gmock/gmock.h>

#include <cmath>

#include "search/search_fixture_for_tests.h"

namespace cadre::search {
namespace {

using testing::HasSubstr;

const char* const of_a_net =
    "{lr: {type: log, min: -4, max: -1}, model: {layers: {type: int, min: 1, max: 8}}, batch-size: 32, flag: true, "
    "opt: {type: categorical, values: [sgd, adam]}, m: {type: double, min: 0, max: 1, when: {opt: sgd}}, sizes: [1, "
    "2]}";
const char* const a_net = "{lr: 0.01, model: {layers: 3}, batch-size: 32, flag: true, opt: adam, sizes: [1, 2]}";

Result<double> value_of(const std::string& text) {
  const Point point = point_of(a_net);
  TRY_ASSIGN(expression, Expression::parse(text, space_of(of_a_net)));
  return expression.value({5, 0, point, 16, 2});
}
std::string error_of(const std::string& text) {
  const auto value = value_of(text);
  return value ? "" : value.error().message;
}

TEST(Expression, CalculatesWithTheUsualPrecedence) {
  const std::pair<const char*, double> cases[] = {
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"7 - 2 - 1", 4},
      {"2 ^ 3 ^ 2", 512},
      {"2 ** 3", 8},
      {"-2 ** 2", -4},
      {"2 ** -1", 0.5},
      {"7 % 4", 3},
      {"8 / 2 / 2", 2},
      {"1.5e1 + .5", 15.5},
      {"3 - -2", 5},
      {"- - 2", 2},
      {"1 < 2", 1},
      {"2 <= 1", 0},
      {"1 == 1.0 && 2 != 3", 1},
      {"0 || 1 and 0", 0},
      {"!0 + 0", 1},
      {"not 1 or 1", 1},
      {"1 ? 2 : 3", 2},
      {"0 ? 1 : 0 ? 2 : 3", 3},
      {"if(1 > 2, 3, 4)", 4},
      {"min(3, 1, 2)", 1},
      {"max(1, 2)", 2},
      {"sqrt(16)", 4},
      {"log(e)", 1},
      {"log10(1000)", 3},
      {"round(cos(pi))", -1},
      {"pow(2, 10)", 1024},
      {"hypot(3, 4)", 5},
      {"true + false", 1},
      {"abs(-3)", 3},
      {"2e3", 2000},
  };
  for (const auto& [text, expected] : cases) {
    const auto value = value_of(text);
    ASSERT_TRUE(value) << text << ": " << value.error().message;
    EXPECT_DOUBLE_EQ(*value, expected) << text;
  }
  EXPECT_TRUE(std::isnan(*value_of("nan")));
  EXPECT_EQ(*value_of("1 / 0"), INFINITY);
}

TEST(Expression, KnowsHyperparametersTimeAndTrial) {
  EXPECT_DOUBLE_EQ(*value_of("lr * 100 + model.layers"), 4);
  EXPECT_DOUBLE_EQ(*value_of("`batch-size` / time"), 2);
  EXPECT_DOUBLE_EQ(*value_of("trial + flag"), 6);
  EXPECT_DOUBLE_EQ(*value_of("opt == 'adam' ? 1 : 2"), 1);
  EXPECT_DOUBLE_EQ(*value_of("opt != \"sgd\""), 1);
  EXPECT_DOUBLE_EQ(*value_of("opt == 3"), 0);
  EXPECT_DOUBLE_EQ(*value_of("has(m) ? m : 0.5"), 0.5) << "what is not chosen is not calculated";
  EXPECT_DOUBLE_EQ(*value_of("has(m) && m > 0"), 0);
}

TEST(Expression, SaysWhereItIsWrongAndWhatWouldBeRight) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "column 1: expected a number, a name or '(', found the end"},
      {"1 +", "column 4: expected a number, a name or '(', found the end"},
      {"lr * lrr", "column 6: there is no hyperparameter 'lrr'; did you mean 'lr'?"},
      {"layers",
       "column 1: there is no hyperparameter 'layers'; the known ones are: time, trial, batch-size, flag, lr"},
      {"sqr(2)", "column 1: there is no function 'sqr'; did you mean 'sqrt'?"},
      {"(1", "column 3: expected ')', found the end"},
      {"1 2", "column 3: expected an operator or the end, found '2'"},
      {"1.2.3", "column 1: '1.2.' is not a number"},
      {"2x", "column 1: '2x' is not a number"},
      {"sqrt(1, 2)", "column 1: sqrt takes 1 argument, not 2"},
      {"min()", "column 1: min takes 1 argument, not 0"},
      {"if(1)", "column 1: if takes 3 arguments, not 1"},
      {"1 ? 2", "column 6: expected ':', found the end"},
      {"'sgd", "column 1: the closing ' is missing"},
      {"opt * 2", "column 1: the text \"adam\" is not a number; compare it with =="},
      {"1 + m", "column 5: m does not exist in trial 5; ask with has(m)"},
      {"sizes", "column 1: sizes is a list, not a number"},
      {"has(3)", "column 1: has takes the name of a hyperparameter"},
      {"1; 2", "column 2: expected an operator or the end, found ';'"},
  };
  for (const auto& [text, expected] : cases) EXPECT_THAT(error_of(text), HasSubstr(expected)) << text;
}

TEST(Expression, IsBounded) {
  EXPECT_THAT(error_of(std::string(300, '(') + "1" + std::string(300, ')')), HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(std::string(1'000, '-') + "1"), HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(std::string(1'000, '!') + "1"), HasSubstr("nested too deeply"));
  EXPECT_THAT(error_of(std::string(3'000, '1')), HasSubstr("longer than 2000 characters"));
  std::string sum = "1";
  for (int i = 0; i < 999; ++i) sum += "+1";
  EXPECT_EQ(*value_of(sum), 1'000);
}

}  // namespace
}  // namespace cadre::search
