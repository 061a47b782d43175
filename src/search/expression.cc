#include "search/expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include "describe/describe.h"
#include "search/expression_functions.h"

namespace cadre::search {
namespace {

constexpr std::size_t longest_expression = 2'000;
constexpr int deepest_expression = 200;

enum class Kind : std::uint8_t {
  number,
  text,
  time,
  trial,
  hyperparameter,
  has,
  call,
  negate,
  invert,
  choose,
  both,
  either,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  power,
  equal,
  unequal,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
};

}  // namespace

struct Expression::Node {
  Kind kind = Kind::number;
  std::size_t column = 0;
  double number = 0;
  std::string text{};               ///< of a text; the name of a hyperparameter
  std::vector<std::string> path{};  ///< of a hyperparameter
  const Function* function = nullptr;
  std::vector<Node> parts{};
};

namespace {

using Node = Expression::Node;

Failure wrong(std::size_t column, const std::string& message) {
  return fail(Errc::invalid, "column " + std::to_string(column) + ": " + message);
}

class Parser {
 public:
  Parser(std::string_view text, const Space& space) : text_(text), space_(space) {}

  Result<Node> parse() {
    if (text_.size() > longest_expression) return wrong(1, "the formula is longer than 2000 characters");
    TRY_ASSIGN(node, expression());
    skip_spaces();
    if (at_ < text_.size()) return wrong(column(), "expected an operator or the end, found " + here());
    return node;
  }

 private:
  struct Operator {
    std::string_view sign;
    Kind kind;
  };

  /// Counts how deep it is, so that no formula uses up the stack.
  class Depth {
   public:
    explicit Depth(int& depth) : depth_(depth) { ++depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    ~Depth() { --depth_; }

   private:
    int& depth_;
  };

  [[nodiscard]] std::size_t column() const { return at_ + 1; }
  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  [[nodiscard]] std::string here() const {
    return at_ >= text_.size() ? "the end" : "'" + std::string(text_.substr(at_, 1)) + "'";
  }
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  bool take(std::string_view sign) {
    skip_spaces();
    if (text_.substr(at_, sign.size()) != sign) return false;
    const bool is_name = is_word(sign.front());
    if (is_name && at_ + sign.size() < text_.size() && is_word(text_[at_ + sign.size()])) return false;
    at_ += sign.size();
    return true;
  }

  Result<void> expect(std::string_view sign) {
    if (take(sign)) return {};
    return wrong(column(), "expected '" + std::string(sign) + "', found " + here());
  }

  static Node made(Kind kind, std::size_t column, std::vector<Node> parts) {
    Node node;
    node.kind = kind;
    node.column = column;
    node.parts = std::move(parts);
    return node;
  }

  template <std::size_t Count>
  Result<Node> chain(const std::array<Operator, Count>& operators, Result<Node> (Parser::*inner)()) {
    TRY_ASSIGN(left, (this->*inner)());
    for (;;) {
      skip_spaces();
      const std::size_t at = column();
      const auto found = std::find_if(operators.begin(), operators.end(),
                                      [&](const Operator& one) { return is_operator(one.sign) && take(one.sign); });
      if (found == operators.end()) return left;
      TRY_ASSIGN(right, (this->*inner)());
      std::vector<Node> parts;
      parts.push_back(std::move(left));
      parts.push_back(std::move(right));
      left = made(found->kind, at, std::move(parts));
    }
  }
  /// `*` is not the beginning of `**`.
  [[nodiscard]] bool is_operator(std::string_view sign) const { return sign != "*" || text_.substr(at_, 2) != "**"; }

  Result<Node> expression() {
    const Depth depth(depth_);
    if (depth_ > deepest_expression) return wrong(column(), "the formula is nested too deeply; simplify it");
    TRY_ASSIGN(condition, either());
    skip_spaces();
    const std::size_t at = column();
    if (!take("?")) return condition;
    TRY_ASSIGN(yes, expression());
    TRY(expect(":"));
    TRY_ASSIGN(no, expression());
    std::vector<Node> parts;
    for (Node* part : {&condition, &yes, &no}) parts.push_back(std::move(*part));
    return made(Kind::choose, at, std::move(parts));
  }

  Result<Node> either() {
    return chain(std::array{Operator{"||", Kind::either}, Operator{"or", Kind::either}}, &Parser::both);
  }
  Result<Node> both() {
    return chain(std::array{Operator{"&&", Kind::both}, Operator{"and", Kind::both}}, &Parser::inverted);
  }

  Result<Node> inverted() {
    const Depth depth(depth_);
    if (depth_ > deepest_expression) return wrong(column(), "the formula is nested too deeply; simplify it");
    skip_spaces();
    const std::size_t at = column();
    const bool is_sign = text_.substr(at_, 1) == "!" && text_.substr(at_, 2) != "!=";
    if (!(is_sign && take("!")) && !take("not")) return comparison();
    TRY_ASSIGN(part, inverted());
    std::vector<Node> parts;
    parts.push_back(std::move(part));
    return made(Kind::invert, at, std::move(parts));
  }

  Result<Node> comparison() {
    return chain(
        std::array{Operator{"==", Kind::equal}, Operator{"!=", Kind::unequal}, Operator{"<=", Kind::less_or_equal},
                   Operator{">=", Kind::greater_or_equal}, Operator{"<", Kind::less}, Operator{">", Kind::greater}},
        &Parser::sum);
  }
  Result<Node> sum() {
    return chain(std::array{Operator{"+", Kind::add}, Operator{"-", Kind::subtract}}, &Parser::product);
  }
  Result<Node> product() {
    return chain(std::array{Operator{"*", Kind::multiply}, Operator{"/", Kind::divide}, Operator{"%", Kind::remainder}},
                 &Parser::signed_value);
  }

  Result<Node> signed_value() {
    const Depth depth(depth_);
    if (depth_ > deepest_expression) return wrong(column(), "the formula is nested too deeply; simplify it");
    skip_spaces();
    const std::size_t at = column();
    if (take("+")) return signed_value();
    if (!take("-")) return power();
    TRY_ASSIGN(part, signed_value());
    std::vector<Node> parts;
    parts.push_back(std::move(part));
    return made(Kind::negate, at, std::move(parts));
  }

  Result<Node> power() {
    TRY_ASSIGN(base, value());
    skip_spaces();
    const std::size_t at = column();
    if (!take("**") && !take("^")) return base;
    TRY_ASSIGN(exponent, signed_value());
    std::vector<Node> parts;
    parts.push_back(std::move(base));
    parts.push_back(std::move(exponent));
    return made(Kind::power, at, std::move(parts));
  }

  Result<Node> value() {
    skip_spaces();
    const std::size_t at = column();
    if (take("(")) {
      TRY_ASSIGN(node, expression());
      TRY(expect(")"));
      return node;
    }
    const char first = at_ < text_.size() ? text_[at_] : '\0';
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '.') return number();
    if (first == '"' || first == '\'') {
      TRY_ASSIGN(text, quoted(first));
      Node node = made(Kind::text, at, {});
      node.text = std::move(text);
      return node;
    }
    if (first == '`') {
      TRY_ASSIGN(name, quoted(first));
      return variable(name, at);
    }
    if (is_word(first)) return named(at);
    return wrong(at, "expected a number, a name or '(', found " + here());
  }

  Result<Node> number() {
    const std::size_t at = column();
    std::size_t end = at_;
    const auto digits = [&] {
      while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0) ++end;
    };
    digits();
    if (end < text_.size() && text_[end] == '.') ++end, digits();
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      const std::size_t mantissa = end++;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      const std::size_t exponent = end;
      digits();
      if (end == exponent) end = mantissa;
    }
    const std::string text(text_.substr(at_, end - at_));
    if (text == "." || (end < text_.size() && (is_word(text_[end]) || text_[end] == '.'))) {
      return wrong(at, "'" + text + text_[std::min(end, text_.size() - 1)] + "' is not a number");
    }
    at_ = end;
    Node node = made(Kind::number, at, {});
    node.number = std::strtod(text.c_str(), nullptr);
    return node;
  }

  Result<std::string> quoted(char quote) {
    const std::size_t at = column();
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) return wrong(at, std::string("the closing ") + quote + " is missing");
    const std::string text(text_.substr(at_, end - at_));
    at_ = end + 1;
    return text;
  }

  /// A function, a constant, or a variable.
  Result<Node> named(std::size_t at) {
    std::size_t end = at_;
    while (end < text_.size() && (is_word(text_[end]) || text_[end] == '.')) ++end;
    const std::string name(text_.substr(at_, end - at_));
    at_ = end;
    if (take("(")) return call(name, at);
    return variable(name, at);
  }

  Result<Node> variable(const std::string& name, std::size_t at) {
    if (name == "time") return made(Kind::time, at, {});
    if (name == "trial") return made(Kind::trial, at, {});
    const auto& parameters = space_.parameters();
    const auto found =
        std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& one) { return one.name() == name; });
    if (found != parameters.end()) {
      Node node = made(Kind::hyperparameter, at, {});
      node.text = name;
      node.path = found->path;
      return node;
    }
    if (const auto number = constant(name)) {
      Node node = made(Kind::number, at, {});
      node.number = *number;
      return node;
    }
    std::vector<std::string> names{"time", "trial"};
    for (const Parameter& one : parameters) names.push_back(one.name());
    return wrong(
        at, "there is no hyperparameter '" + name + "';" + describe::suggestion(name, {names.begin(), names.end()}));
  }

  Result<Node> call(const std::string& name, std::size_t at) {
    std::vector<Node> arguments;
    while (!take(")")) {
      if (!arguments.empty()) TRY(expect(","));
      TRY_ASSIGN(argument, expression());
      arguments.push_back(std::move(argument));
    }
    const auto needs = [&](std::size_t count) {
      return wrong(at, name + " takes " + std::to_string(count) + (count == 1 ? " argument" : " arguments") + ", not " +
                           std::to_string(arguments.size()));
    };
    if (name == "if")
      return arguments.size() == 3 ? Result<Node>(made(Kind::choose, at, std::move(arguments))) : needs(3);
    if (name == "has") {
      if (arguments.size() != 1) return needs(1);
      if (arguments[0].kind != Kind::hyperparameter) return wrong(at, "has takes the name of a hyperparameter");
      return made(Kind::has, at, std::move(arguments));
    }
    const auto found =
        std::find_if(functions().begin(), functions().end(), [&](const Function& one) { return one.name == name; });
    if (found == functions().end()) {
      std::vector<std::string_view> names{"if", "has"};
      for (const Function& one : functions()) names.push_back(one.name);
      return wrong(at, "there is no function '" + name + "';" + describe::suggestion(name, names));
    }
    if (arguments.size() < found->least || arguments.size() > found->most) return needs(found->least);
    Node node = made(Kind::call, at, std::move(arguments));
    node.function = &*found;
    return node;
  }

  std::string_view text_;
  const Space& space_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

/// A number or a text.
struct Operand {
  double number = 0;
  const std::string* text = nullptr;
};

class Evaluation {
 public:
  explicit Evaluation(const Moment& moment) : moment_(moment) {}

  Result<double> number(const Node& node) const {
    TRY_ASSIGN(operand, value(node));
    if (operand.text == nullptr) return operand.number;
    return wrong(node.column, "the text \"" + *operand.text + "\" is not a number; compare it with ==");
  }

 private:
  Result<Operand> value(const Node& node) const {
    switch (node.kind) {
      case Kind::number: return Operand{node.number};
      case Kind::text: return Operand{0, &node.text};
      case Kind::time: return Operand{static_cast<double>(moment_.time)};
      case Kind::trial: return Operand{static_cast<double>(moment_.trial)};
      case Kind::hyperparameter: return hyperparameter(node);
      case Kind::has: return truth(find(moment_.hyperparameters, node.parts[0].path) != nullptr);
      case Kind::call: return call(node);
      case Kind::equal:
      case Kind::unequal: return compared(node);
      default: return computed(node);
    }
  }

  static Operand truth(bool is_true) { return {is_true ? 1.0 : 0.0}; }

  Result<Operand> hyperparameter(const Node& node) const {
    const describe::Value* value = find(moment_.hyperparameters, node.path);
    if (value == nullptr) {
      return wrong(node.column, node.text + " does not exist in trial " + std::to_string(moment_.trial) +
                                    "; ask with has(" + node.text + ")");
    }
    if (const auto* text = value->as<std::string>()) return Operand{0, text};
    if (const auto* is_true = value->as<bool>()) return truth(*is_true);
    if (const std::optional<double> number = number_of(*value)) return Operand{*number};
    return wrong(node.column, node.text + " is " + describe::found(*value) + ", not a number");
  }

  Result<Operand> call(const Node& node) const {
    std::vector<double> arguments;
    for (const Node& part : node.parts) {
      TRY_ASSIGN(argument, number(part));
      arguments.push_back(argument);
    }
    return Operand{node.function->call(arguments)};
  }

  Result<Operand> compared(const Node& node) const {
    TRY_ASSIGN(left, value(node.parts[0]));
    TRY_ASSIGN(right, value(node.parts[1]));
    const bool is_text = left.text != nullptr && right.text != nullptr;
    const bool is_number = left.text == nullptr && right.text == nullptr;
    const bool is_equal = (is_text && *left.text == *right.text) || (is_number && left.number == right.number);
    return truth(is_equal == (node.kind == Kind::equal));
  }

  Result<Operand> computed(const Node& node) const {
    TRY_ASSIGN(first, number(node.parts[0]));
    if (node.kind == Kind::negate) return Operand{-first};
    if (node.kind == Kind::invert) return truth(first == 0);
    if (node.kind == Kind::choose) return value(node.parts[first != 0 ? 1 : 2]);
    if (node.kind == Kind::both && first == 0) return truth(false);
    if (node.kind == Kind::either && first != 0) return truth(true);
    TRY_ASSIGN(second, number(node.parts[1]));
    switch (node.kind) {
      case Kind::both:
      case Kind::either: return truth(second != 0);
      case Kind::add: return Operand{first + second};
      case Kind::subtract: return Operand{first - second};
      case Kind::multiply: return Operand{first * second};
      case Kind::divide: return Operand{first / second};
      case Kind::remainder: return Operand{std::fmod(first, second)};
      case Kind::power: return Operand{std::pow(first, second)};
      case Kind::less: return truth(first < second);
      case Kind::less_or_equal: return truth(first <= second);
      case Kind::greater: return truth(first > second);
      default: return truth(first >= second);
    }
  }

  const Moment& moment_;
};

}  // namespace

Result<Expression> Expression::parse(std::string_view text, const Space& space) {
  TRY_ASSIGN(node, Parser(text, space).parse());
  return Expression(std::make_shared<const Node>(std::move(node)));
}

Result<double> Expression::value(const Moment& moment) const { return Evaluation(moment).number(*root_); }

}  // namespace cadre::search
