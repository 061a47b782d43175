#include <cadre/core.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "client/attachment.h"
#include "client/cluster/data_folder.h"

namespace cadre::core {

using client::variable;

namespace {

template <class Number>
Number number_or(const char* name, Number otherwise) {
  const std::string text = variable(name);
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : otherwise;
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start < list.size();) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    parts.push_back(list.substr(start, comma - start));
    start = comma + 1;
  }
  return parts;
}

Reported too_large(const std::string& what) {
  return {Reported::Outcome::refused, what + " has at most " + std::to_string(report_bytes_max) + " bytes"};
}

}  // namespace

Task this_task() {
  Task task;
  task.task = variable("CADRE_TASK");
  task.lease = variable("CADRE_LEASE");
  task.epoch = number_or<std::uint64_t>("CADRE_EPOCH", 0);
  task.role = variable("CADRE_ROLE");
  task.rank = number_or<std::uint32_t>("CADRE_RANK", 0);
  task.size = number_or<std::uint32_t>("CADRE_SIZE", 1);
  task.slots = parts_of(variable("CADRE_SLOTS"));
  task.master = variable("CADRE_MASTER");
  return task;
}

std::optional<std::map<std::string, std::string>> wait_until_begun() {
  if (variable("CADRE_WARM").empty()) return std::map<std::string, std::string>{};
  auto variables = Attachment(variable("CADRE_SOCKET")).wait_until_begun();
  if (!variables) return std::nullopt;
  for (const auto& [name, value] : *variables) setenv(name.c_str(), value.c_str(), 1);
  unsetenv("CADRE_WARM");
  return variables;
}

Context::Context() : task_(this_task()), socket_(variable("CADRE_SOCKET")) {
  on_cluster_ = !socket_.empty();
  if (on_cluster_) attachment_ = new Attachment(socket_);
}

Context::~Context() {
  Attachment* attachment = attachment_;
  if (attachment == nullptr) return;
  if (attachment->pid() == getpid()) {
    delete attachment;
  } else {
    attachment->disown();
  }
}

// A child shares nothing with its parent: not the connection, and not the lock, which a thread that is not here may
// hold. The parent's attachment is left as it is; that its memory is not freed is the price.
Attachment& Context::attachment() {
  Attachment* mine = attachment_;
  if (mine->pid() == getpid()) return *mine;
  mine->disown();
  auto* fresh = new Attachment(socket_);
  if (attachment_.compare_exchange_strong(mine, fresh)) return *fresh;
  delete fresh;
  return *mine;
}

std::optional<Stop> Context::stop() {
  if (!on_cluster_) return std::nullopt;
  return attachment().stop();
}

void Context::promise_liveness() {
  if (on_cluster_) attachment().promise_liveness();
}

void Context::beat() {
  if (on_cluster_) attachment().beat();
}

void Context::tally(std::uint64_t calls, std::uint64_t errors) {
  if (on_cluster_) attachment().tally(calls, errors);
}

Reported Context::report(std::string_view text, std::chrono::milliseconds wait_max) {
  if (text.size() > report_bytes_max) return too_large("a report");
  if (on_cluster_) return attachment().report({0, std::string(text)}, wait_max);
  std::fprintf(stderr, "cadre: report %.*s\n", static_cast<int>(text.size()), text.data());
  return {};
}

Reported Context::announce(std::string_view json, std::chrono::milliseconds wait_max) {
  if (json.size() > report_bytes_max) return too_large("an announcement");
  if (on_cluster_) return attachment().report({0, std::string(json), true}, wait_max);
  std::fprintf(stderr, "cadre: announcement %.*s\n", static_cast<int>(json.size()), json.data());
  return {};
}

}  // namespace cadre::core
