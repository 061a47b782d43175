#include "master/config.h"

#include <algorithm>
#include <utility>

#include "describe/describe.h"

namespace cadre::master {

std::vector<std::string_view> own_keys() {
  static const describe::Shape shape = describe::outline<Config>();
  std::vector<std::string_view> keys;
  for (const describe::FieldShape& field : shape.fields) keys.push_back(field.key);
  return keys;
}

tl::expected<Config, describe::Faults> read_config(std::string_view yaml) {
  auto parsed = describe::parse_yaml(yaml);
  if (!parsed) return tl::unexpected(std::move(parsed).error());
  auto* entries = parsed->as<describe::Value::Map>();
  if (entries == nullptr) return describe::read<Config>(*parsed);
  const std::vector<std::string_view> own = own_keys();
  const auto sections = std::stable_partition(entries->begin(), entries->end(), [&](const describe::Entry& entry) {
    return std::find(own.begin(), own.end(), entry.key) != own.end();
  });
  api::Sections of_parts(
      describe::Value::Map(std::make_move_iterator(sections), std::make_move_iterator(entries->end())));
  entries->erase(sections, entries->end());
  auto config = describe::read<Config>(*parsed);
  if (config) config->sections = std::move(of_parts);
  return config;
}

}  // namespace cadre::master
