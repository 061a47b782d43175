/// How commands show what they got. For the main thread.
#pragma once

#include <string>

#include "cli/commands/verb.h"

namespace cadre::cli {

/// One value as JSON, or as the text that `to_text` makes of it; the exit code.
template <class T, class ToText>
int show(const CommandContext& session, const ClientOptions& client, const Result<T>& got, ToText to_text) {
  if (!got) return session.complain(got.error());
  if (client.json) {
    print_json(*got);
  } else {
    print(to_text(*got));
  }
  return done;
}

/// A number of slots, or `none` for no limit, as an option.
inline CLI::Option& add_max_slots(CLI::App& command, std::optional<std::int64_t>& value, const std::string& help) {
  return *command
              .add_option_function<std::string>(
                  "--max-slots",
                  [&value](const std::string& text) {
                    if (text == "none") {
                      value = access::unlimited;
                      return;
                    }
                    const auto number = describe::read_json<std::int64_t>(text);
                    if (!number || *number < 0) {
                      throw CLI::ValidationError("--max-slots", "'" + text + "' is neither a number nor none");
                    }
                    value = *number;
                  },
                  help)
              ->type_name("NUMBER|none");
}

}  // namespace cadre::cli
