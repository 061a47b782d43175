/// The core with a database in memory and people who ask. Writes down who asked what, what was written and what was
/// answered, for transcripts; never a password or a hash. One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "access/access.h"
#include "access/words_for_tests.h"
#include "base/check.h"

namespace cadre::access {

/// The rows as a database would hold them.
struct ModelDatabase {
  std::map<std::string, UserRow> users;
  std::map<std::string, TokenRow> tokens;
  std::map<std::string, WorkspaceRow> workspaces;
  std::map<std::pair<std::string, std::string>, MemberRow> members;
  std::vector<AuditRow> audit;
  std::map<std::pair<std::string, std::string>, IdempotencyRow> keys;
  bool operator==(const ModelDatabase&) const = default;

  void apply(const Writes& writes) {
    for (const auto& key : writes.members_gone) members.erase(key);
    for (const auto& key : writes.tokens_gone) tokens.erase(key);
    for (const auto& key : writes.users_gone) users.erase(key);
    for (const auto& key : writes.workspaces_gone) workspaces.erase(key);
    for (const auto& row : writes.users) users.insert_or_assign(row.name, row);
    for (const auto& row : writes.workspaces) workspaces.insert_or_assign(row.name, row);
    for (const auto& row : writes.tokens) tokens.insert_or_assign(row.id, row);
    for (const auto& row : writes.members) members.insert_or_assign({row.workspace, row.user}, row);
    for (const auto& row : writes.audit) audit.push_back(row);
    for (const auto& key : writes.keys_gone) keys.erase(key);
    for (const auto& row : writes.keys) keys.insert_or_assign({row.user, row.key}, row);
  }

  Rows rows() const {
    Rows all;
    for (const auto& [key, row] : users) all.users.push_back(row);
    for (const auto& [key, row] : tokens) all.tokens.push_back(row);
    for (const auto& [key, row] : workspaces) all.workspaces.push_back(row);
    for (const auto& [key, row] : members) all.members.push_back(row);
    for (const auto& [key, row] : keys) all.keys.push_back(row);
    all.last_audit = audit.empty() ? 0 : audit.back().number;
    return all;
  }
};

inline Secret secret_of(const std::string& id) { return {id, "hash of " + id}; }

class AccessFixture {
 public:
  /// `restarts`: the core is made anew from its rows after everything it is asked.
  enum class Restarts : bool { no, yes };
  explicit AccessFixture(Settings settings = {}, Restarts restarts = Restarts::no)
      : settings_(settings), restarts_(restarts), now_(parse_utc("2026-11-15T12:00:00Z").value()) {
    restart();
    access_->found(now_);
    settle(Tell::no);
  }

  /// Gives this user a token for requests; creates the user if it does not exist.
  void comes(const std::string& user) {
    UserRow row;
    row.name = user;
    row.created = now_;
    if (!database_.users.contains(user)) {
      Writes writes;
      writes.users = {row};
      database_.apply(writes);
      restart();
    }
    CHECK(access_->put_token({"of-" + user, "hash of of-" + user, user, "fixture", now_, {}}));
    settle(Tell::no);
  }
  /// Sends a request with the token from comes().
  void ask(const std::string& user, const std::string& words, const Request& request) {
    ask_with("of-" + user, user, words, request);
  }
  void ask_with(const std::string& token, const std::string& name, const std::string& words, const Request& request) {
    write(name + ": " + words);
    const Result<Principal> who = access_->who("hash of " + token, now_);
    answer(name, who ? access_->ask(*who, request, now_) : Failure(who.error()));
  }
  void ask_as_task(const std::string& user, const std::string& workspace, const std::string& words,
                   const Request& request) {
    write("task 1.0 of " + user + " in " + workspace + ": " + words);
    const Result<Principal> who = access_->who_of_task(user, workspace, "1.0");
    answer("task", who ? access_->ask(*who, request, now_) : Failure(who.error()));
  }
  /// The password is right if it is the user's.
  void login(const std::string& user, const std::string& address, const std::string& password) {
    write(user + " from " + address + ": log in with " + (password == right_password ? "the" : "a wrong") +
          " password");
    const Result<Challenge> challenge = access_->begin_login(user, address, now_);
    if (!challenge) return answer(user, Failure(challenge.error()));
    const bool is_right = !challenge->password.empty() && challenge->password == password;
    const auto passed = is_right ? Access::Passed::yes : Access::Passed::no;
    const std::string id = "login-" + std::to_string(++last_login_);
    const Result<NewToken> made =
        access_->end_login({user, address, passed, std::chrono::hours(24), secret_of(id)}, now_);
    answer(user, made ? Result<Reply>(*made) : Failure(made.error()));
  }
  void pass(Duration time) {
    write(to_string(time) + " pass");
    now_ += time;
  }
  /// What happened so far is not told.
  void begin_here() { text_.clear(); }
  void tidy() {
    write("tidy");
    access_->tidy(now_);
    settle(Tell::yes);
  }

  static constexpr const char* right_password = "hash of the right one";
  Access& access() { return *access_; }
  const ModelDatabase& database() const { return database_; }
  TimePoint now() const { return now_; }
  const std::string& text() const { return text_; }
  const Result<Reply>& last() const { return last_; }

 private:
  enum class Tell : bool { no, yes };

  void write(const std::string& line) { text_ += line + "\n"; }
  void restart() { access_ = std::make_unique<Access>(settings_, database_.rows()); }

  void answer(const std::string& name, Result<Reply> reply) {
    settle(Tell::yes);
    write("    to " + name + ": " + (reply ? in_words(*reply) : in_words(reply.error())));
    last_ = std::move(reply);
    if (restarts_ == Restarts::yes) restart();
  }

  static std::string member_in_words(const std::pair<std::string, std::string>& key) {
    return key.second + " from " + key.first;
  }

  void settle(Tell tell) {
    const Writes writes = access_->take();
    database_.apply(writes);
    if (tell == Tell::no) return;
    for (const std::string& name : writes.users_gone) write("    gone: user " + name);
    for (const std::string& id : writes.tokens_gone) write("    gone: token " + id);
    for (const std::string& name : writes.workspaces_gone) write("    gone: workspace " + name);
    for (const auto& key : writes.members_gone) write("    gone: " + member_in_words(key));
    for (const UserRow& row : writes.users) write("    written: user " + row.name);
    for (const TokenRow& row : writes.tokens) write("    written: token " + row.id + " of " + row.user);
    for (const WorkspaceRow& row : writes.workspaces) write("    written: workspace " + row.name);
    for (const MemberRow& row : writes.members) {
      write("    written: " + row.user + " " + name_of(row.role) + " in " + row.workspace);
    }
  }

  Settings settings_;
  Restarts restarts_;
  TimePoint now_;
  ModelDatabase database_;
  std::unique_ptr<Access> access_;
  int last_login_ = 0;
  std::string text_;
  Result<Reply> last_ = Done{};
};

}  // namespace cadre::access
