/// What is answered, in a line each, for transcripts that people read. Safe on any thread.
#pragma once

#include <map>
#include <string>

#include "access/requests.h"
#include "base/overloaded.h"
#include "base/result.h"

namespace cadre::access {

template <class Enum>
std::string name_of(Enum value) {
  for (const auto& [each, name] : enum_names(Enum{})) {
    if (each == value) return name;
  }
  return "?";
}

inline std::string in_words(const Error& error) { return name_of(error.code) + ": " + error.message; }

inline std::string in_words(const std::optional<std::int64_t>& max_slots) {
  return max_slots ? ", at most " + std::to_string(*max_slots) + " slots" : "";
}

inline std::string in_words(const UserView& user) {
  std::string text = "user " + user.name + (user.is_admin ? ", admin" : "") + (user.is_active ? "" : ", not active") +
                     (user.has_password ? ", has a password" : "") + in_words(user.max_slots);
  for (const auto& [workspace, role] : user.workspaces) text += ", " + name_of(role) + " in " + workspace;
  return text;
}

inline std::string in_words(const TokenView& token) {
  return "token " + token.id + " of " + token.user + (token.name.empty() ? "" : " for " + token.name) +
         (token.expires ? ", until " + to_utc(*token.expires) : "");
}

inline std::string in_words(const WorkspaceView& workspace) {
  std::string text = "workspace " + workspace.name + in_words(workspace.max_slots);
  for (const auto& [user, role] : workspace.members) text += ", " + user + " " + name_of(role);
  return text;
}

template <class List>
std::string lines_of(const List& list) {
  std::string text = std::to_string(list.size());
  for (const auto& one : list) text += "\n      " + in_words(one);
  return text;
}

inline std::string in_words(const Reply& reply) {
  return std::visit(overloaded{
                        [](const Done&) { return std::string("done"); },
                        [](const Users& one) {
                          return lines_of(one.users) + (one.next.empty() ? "" : "\n      more after " + one.next);
                        },
                        [](const Tokens& one) { return lines_of(one.tokens); },
                        [](const NewToken& one) { return "new " + in_words(one.about); },
                        [](const Workspaces& one) { return lines_of(one.workspaces); },
                        [](const Me& one) {
                          return in_words(one.user) + (one.token ? ", by " + in_words(*one.token) : "") +
                                 (one.task.empty() ? "" : ", as task " + one.task);
                        },
                        [](const auto& one) { return in_words(one); },
                    },
                    reply);
}

}  // namespace cadre::access
