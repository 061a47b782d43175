#include "cli/described_options.h"

#include <algorithm>

#include "base/check.h"

namespace cadre::cli {
namespace {

using describe::Value;
using Form = DescribedOption::Form;

bool is_repeatable(Form form) { return form == Form::list || form == Form::pairs || form == Form::mounts; }

std::string_view first_name(std::string_view path) { return path.substr(0, path.find('.')); }

/// What the description says of the field at a path.
const describe::FieldShape& field_at(const describe::Shape& shape, std::string_view path) {
  using Kind = describe::Shape::Kind;
  const describe::Shape* record = &shape;
  while (record->kind == Kind::list || record->kind == Kind::optional) record = &record->parts.front();
  const std::string_view name = first_name(path);
  const auto field = std::find_if(record->fields.begin(), record->fields.end(),
                                  [&](const describe::FieldShape& one) { return one.key == name; });
  CHECK(field != record->fields.end());
  return name.size() == path.size() ? *field : field_at(field->shape, path.substr(name.size() + 1));
}

/// The default as it would be typed; empty when there is none worth showing.
std::string default_of(const describe::FieldShape& field) {
  if (const auto* text = field.initial.as<std::string>()) return *text;
  const auto* number = field.initial.as<std::int64_t>();
  return number == nullptr || *number == 0 ? "" : std::to_string(*number);
}

std::string help_of(const DescribedOption& option, const describe::FieldShape& field) {
  const std::string help(option.help.empty() ? std::string_view(field.doc) : option.help);
  return is_repeatable(option.form) ? help + " Can be given several times." : help;
}

/// A number as YAML writes it; anything else stays text, which the reader rejects.
Value number(const std::string& text) {
  auto parsed = describe::parse_yaml(text);
  const bool is_number = parsed && (parsed->as<std::int64_t>() != nullptr || parsed->as<std::uint64_t>() != nullptr ||
                                    parsed->as<double>() != nullptr);
  return is_number ? *std::move(parsed) : Value(text);
}

Result<Value> pairs(const std::vector<std::string>& texts, std::string_view form) {
  Value map(Value::Map{});
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string::npos) {
      return fail(Errc::invalid, "'" + text + "' is not of the form " + std::string(form));
    }
    map.set(text.substr(0, sign), Value(text.substr(sign + 1)));
  }
  return map;
}

Result<Value> mounts(const std::vector<std::string>& texts, std::string_view form) {
  Value::List list;
  for (const std::string& text : texts) {
    const std::size_t first = text.find(':');
    const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
    const std::string mode = second == std::string::npos ? "" : text.substr(second + 1);
    if (first == std::string::npos || (second != std::string::npos && mode != "ro" && mode != "rw")) {
      return fail(Errc::invalid, "'" + text + "' is not of the form " + std::string(form));
    }
    Value mount;
    mount.set("source", Value(text.substr(0, first)));
    mount.set("target", Value(text.substr(first + 1, second == std::string::npos ? second : second - first - 1)));
    mount.set("writable", Value(mode == "rw"));
    list.push_back(std::move(mount));
  }
  return Value(std::move(list));
}

}  // namespace

void add_options(CLI::App& command, std::span<const DescribedOption> options, const describe::Shape& shape,
                 GivenOptions& given) {
  for (const DescribedOption& option : options) {
    const describe::FieldShape& field = field_at(shape, option.path);
    const std::string name(option.name);
    if (option.form == Form::flag) {
      command.add_flag(name, given.flags[name], help_of(option, field));
      continue;
    }
    CLI::Option& added = *command.add_option(name, given.texts[name], help_of(option, field));
    added.type_name(std::string(option.type));
    added.allow_extra_args(false);
    if (!is_repeatable(option.form)) added.expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    if (const std::string initial = default_of(field); !initial.empty()) added.default_str(initial);
  }
}

bool is_given(const DescribedOption& option, const GivenOptions& given) {
  const std::string name(option.name);
  if (const auto flag = given.flags.find(name); flag != given.flags.end()) return flag->second;
  const auto texts = given.texts.find(name);
  return texts != given.texts.end() && !texts->second.empty();
}

Result<Value> value_of(const DescribedOption& option, const GivenOptions& given) {
  if (option.form == Form::flag) return Value(true);
  const std::vector<std::string>& texts = given.texts.at(std::string(option.name));
  switch (option.form) {
    case Form::text: return Value(texts.back());
    case Form::number: return number(texts.back());
    case Form::flag: return Value(true);
    case Form::pairs: return pairs(texts, option.type);
    case Form::mounts: return mounts(texts, option.type);
    case Form::list: {
      Value::List list;
      for (const std::string& text : texts) list.emplace_back(text);
      return Value(std::move(list));
    }
  }
  return Value();
}

void put(Value& tree, std::string_view path, Value value) {
  const std::string key(first_name(path));
  if (key.size() == path.size()) {
    tree.set(key, std::move(value));
    return;
  }
  if (tree.find(key) == nullptr) tree.set(key, Value(Value::Map{}));
  for (describe::Entry& entry : *tree.as<Value::Map>()) {
    if (entry.key == key) return put(entry.value, path.substr(key.size() + 1), std::move(value));
  }
}

std::string place_of(std::span<const DescribedOption> options, const std::string& path) {
  for (const DescribedOption& option : options) {
    if (!path.starts_with(option.path)) continue;
    const std::string rest = path.substr(option.path.size());
    if (rest.empty()) return std::string(option.name);
    if (rest[0] == '.' || rest[0] == '[') return std::string(option.name) + " " + rest.substr(rest[0] == '.' ? 1 : 0);
  }
  return path;
}

void put_given(Value& tree, std::span<const DescribedOption> options, const GivenOptions& given, std::string& faults) {
  for (const DescribedOption& option : options) {
    if (!is_given(option, given)) continue;
    if (Result<Value> value = value_of(option, given)) {
      put(tree, option.path, *std::move(value));
    } else {
      faults += std::string(option.name) + ": " + value.error().message + "\n";
    }
  }
}

std::string to_text(const describe::Faults& faults, std::string_view file, std::span<const DescribedOption> options,
                    const GivenOptions& given) {
  std::vector<DescribedOption> used;
  for (const DescribedOption& option : options) {
    if (is_given(option, given)) used.push_back(option);
  }
  std::string text;
  for (const describe::Fault& fault : faults) {
    const std::string place = place_of(used, fault.path);
    text +=
        place == fault.path ? describe::to_text(describe::Faults(fault), file) : place + ": " + fault.message + "\n";
  }
  return text;
}

}  // namespace cadre::cli
