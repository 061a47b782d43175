#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "access/model_for_tests.h"
#include "base/dice.h"
#include "base/seeds.h"
#include "describe/describe.h"

namespace cadre::access {
namespace {

using namespace std::chrono_literals;

/// In every password and hash: nothing that is said may hold it.
constexpr const char* mark = "#SECRET#";

constexpr std::array<const char*, 6> user_names{"admin", "ann", "bob", "cid", "dan", "eve"};
constexpr std::array<const char*, 4> workspace_names{"default", "lab", "moon", "sea"};

Settings small() {
  Settings settings;
  settings.users_max = 5;
  settings.tokens_max_each = 3;
  settings.workspaces_max = 3;
  settings.guard.free_failures = 1'000'000;  // a restart forgets failures; login_guard_test.cc has them
  return settings;
}

/// Draws a random caller and request.
class Drawer {
 public:
  Drawer(Dice& dice, const ModelDatabase& tables) : dice_(dice), tables_(tables) {}

  std::string user() { return dice_.percent(4) ? odd_name() : user_names[dice_.below(user_names.size())]; }
  std::string workspace() {
    return dice_.percent(4) ? odd_name() : workspace_names[dice_.below(workspace_names.size())];
  }
  std::string token() {
    if (tables_.tokens.empty() || dice_.percent(20)) return "t" + std::to_string(dice_.below(50));
    return std::next(tables_.tokens.begin(), static_cast<std::ptrdiff_t>(dice_.below(tables_.tokens.size())))->first;
  }
  Secret secret() {
    const std::string id = dice_.percent(95) ? "t" + std::to_string(++last_) : token();
    return {id, mark + (dice_.percent(98) ? id : token())};
  }

  Request request() {
    switch (dice_.below(25)) {
      case 0: return Logout{};
      case 1: return GetMe{};
      case 2: return ListUsers{user(), static_cast<std::int32_t>(dice_.between(1, 3))};
      case 3: return GetUser{user()};
      case 4: return CreateUser{user(), password(), dice_.percent(20), slots(), ""};
      case 5:
      case 6:
      case 7:
        return SetUser{user(),
                       maybe(password()),
                       maybe(password()),
                       dice_.percent(50),
                       maybe(dice_.percent(50)),
                       maybe(dice_.percent(50)),
                       maybe(slots()),
                       {}};
      case 8: return SetUser{user(), password(), password(), dice_.percent(50), {}, {}, {}, {}};
      case 9: return DeleteUser{user()};
      case 10: return ListTokens{maybe(user()), dice_.percent(30)};
      case 11:
      case 12: return CreateToken{name(), maybe(user()), maybe(Duration(dice_.between(-10, 100) * 1s)), secret()};
      case 13: return RevokeToken{token()};
      case 14: return ListWorkspaces{};
      case 15: return GetWorkspace{workspace()};
      case 16: return CreateWorkspace{workspace(), slots()};
      case 17: return SetWorkspace{workspace(), maybe(slots())};
      case 18: return DeleteWorkspace{workspace()};
      case 19:
      case 20:
      case 21:
      case 22: return SetMember{workspace(), user(), static_cast<Role>(dice_.below(3))};
      default: return RemoveMember{workspace(), user()};
    }
  }

 private:
  template <class T>
  std::optional<T> maybe(T value) {
    return dice_.percent(50) ? std::optional<T>(std::move(value)) : std::nullopt;
  }
  std::string odd_name() {
    const std::array<std::string, 6> names{"", ".x", "-x", "a b", std::string(65, 'x'), std::string("\0", 1)};
    return names[dice_.below(names.size())];
  }
  std::string password() { return dice_.percent(20) ? "" : mark + std::to_string(dice_.below(3)); }
  std::int64_t slots() { return dice_.between(-2, 4); }
  std::string name() { return dice_.percent(50) ? "login" : "a script"; }

  Dice& dice_;
  const ModelDatabase& tables_;
  int last_ = 100;
};

/// Of what a reply tells: `tell(kind, name)` for each user, token and workspace in it.
void list_told(const Reply& reply, const std::function<void(const std::string&, const std::string&)>& tell) {
  const auto user = [&](const UserView& view) { tell("user", view.name); };
  const auto token = [&](const TokenView& view) { tell("token", view.user); };
  const auto workspace = [&](const WorkspaceView& view) { tell("workspace", view.name); };
  std::visit(overloaded{
                 [](const Done&) {},
                 [&](const UserView& one) { user(one); },
                 [&](const Users& one) { std::for_each(one.users.begin(), one.users.end(), user); },
                 [&](const TokenView& one) { token(one); },
                 [&](const Tokens& one) { std::for_each(one.tokens.begin(), one.tokens.end(), token); },
                 [&](const NewToken& one) { token(one.about); },
                 [&](const WorkspaceView& one) { workspace(one); },
                 [&](const Workspaces& one) { std::for_each(one.workspaces.begin(), one.workspaces.end(), workspace); },
                 [&](const Me& one) {
                   user(one.user);
                   if (one.token) token(*one.token);
                 },
             },
             reply);
}

/// Holds under all rules: only an admin gets information about other users, or about workspaces in which the caller has
/// no role.
void expect_only_own_data(const Principal& who, const Reply& reply) {
  if (who.is_admin) return;
  list_told(reply, [&](const std::string& kind, const std::string& name) {
    if (kind == "workspace") {
      EXPECT_TRUE(who.roles.contains(name)) << who.user << " was told of workspace " << name;
    } else {
      EXPECT_EQ(name, who.user) << "was told of another's " << kind;
    }
  });
}

/// Rows that are in one and not, or otherwise, in the other.
template <class Map>
std::vector<typename Map::mapped_type> difference(const Map& before, const Map& after) {
  std::vector<typename Map::mapped_type> rows;
  for (const auto& [key, row] : before) {
    const auto found = after.find(key);
    if (found == after.end() || found->second != row) rows.push_back(row);
  }
  for (const auto& [key, row] : after) {
    if (!before.contains(key)) rows.push_back(row);
  }
  return rows;
}

void expect_only_own_changes(const Principal& who, const ModelDatabase& before, const ModelDatabase& after) {
  EXPECT_TRUE(who.task.empty() || before == after) << "a task changed something";
  if (who.is_admin) return;
  EXPECT_EQ(before.workspaces, after.workspaces) << who.user << " changed a workspace";
  for (UserRow row : difference(before.users, after.users)) {
    ASSERT_EQ(row.name, who.user) << "changed another user";
    ASSERT_TRUE(after.users.contains(row.name));
    row.password = after.users.at(row.name).password;
    EXPECT_EQ(row, after.users.at(row.name)) << who.user << " changed more than their password";
  }
  for (const TokenRow& row : difference(before.tokens, after.tokens)) {
    EXPECT_EQ(row.user, who.user) << "changed another's token";
  }
  for (const MemberRow& row : difference(before.members, after.members)) {
    const auto role = who.roles.find(row.workspace);
    EXPECT_TRUE(role != who.roles.end() && role->second == Role::admin) << who.user << " changed " << row.workspace;
  }
}

std::string text_of(const Result<Reply>& reply) {
  return reply ? describe::write_json(*reply) : std::string(to_string(reply.error().code));
}

/// One core that lives on, one that is made anew from the rows every time, and the model; all must agree.
class History {
 public:
  explicit History(Dice& dice) : dice_(dice), drawer_(dice, rules_.tables), lives_(small(), {}) {
    rules_.settings = small();
    lives_.found(now_);
    settle(lives_);
    rules_.tables = database_;
    for (const char* name : {"ann", "bob", "cid"}) ask(let_in("admin"), CreateUser{name, "", false, unlimited, ""});
    for (const char* name : {"lab", "moon"}) ask(let_in("admin"), CreateWorkspace{name, unlimited});
  }

  void step() {
    if (dice_.percent(30)) now_ += Duration(dice_.between(0, 20) * 1s);
    if (dice_.percent(5)) return tidy();
    if (dice_.percent(10)) return login();
    ask(asker(), drawer_.request());
  }

 private:
  void settle(Access& core) { database_.apply(core.take()); }

  enum class Kind : bool { other, admin };
  /// Somebody active of that kind; empty: there is none.
  std::string somebody(Kind kind) {
    std::vector<std::string> names;
    for (const auto& [name, row] : rules_.tables.users) {
      if (row.is_admin == (kind == Kind::admin) && row.is_active) names.push_back(name);
    }
    return names.empty() ? "" : names[dice_.below(names.size())];
  }

  /// Authenticates the user with a token that the shell creates.
  Principal let_in(const std::string& name) {
    const TokenRow token{"of-" + name, mark + ("of-" + name), name, "", now_, {}};
    EXPECT_TRUE(lives_.put_token(token).has_value());
    std::erase_if(rules_.tables.tokens, [&](const auto& one) { return one.second.hash == token.hash; });
    rules_.tables.tokens[token.id] = token;
    settle(lives_);
    return *lives_.who(token.hash, now_);
  }

  Result<Principal> stranger() {
    if (dice_.percent(50)) {
      const std::string user = drawer_.user(), workspace = drawer_.workspace();
      const Result<Principal> who = lives_.who_of_task(user, workspace, "1.0");
      expect_same(who, rules_.believe_task(user, workspace));
      return who;
    }
    const std::string hash = mark + drawer_.token();
    const Result<Principal> who = lives_.who(hash, now_);
    expect_same(who, rules_.believe(hash, now_));
    return who;
  }

  Principal asker() {
    if (!stale_.empty() && dice_.percent(20)) return stale_[dice_.below(stale_.size())];
    if (dice_.percent(40)) {
      if (const auto who = stranger()) return *who;
    }
    const std::string user = dice_.percent(60) ? somebody(Kind::other) : "";
    const Principal who = let_in(user.empty() ? somebody(Kind::admin) : user);
    if (dice_.percent(who.is_admin ? 2 : 20)) {
      if (stale_.size() == 4) stale_.erase(stale_.begin());
      stale_.push_back(who);
    }
    return who;
  }

  static void expect_same(const Result<Principal>& found, const Result<Principal>& wanted) {
    ASSERT_EQ(found.has_value(), wanted.has_value());
    if (found) {
      EXPECT_EQ(*found, *wanted);
    } else {
      EXPECT_EQ(found.error().code, wanted.error().code);
    }
  }

  void ask(const Principal& who, const Request& request) {
    const ModelDatabase before = database_;
    Access restarted(small(), database_.rows());
    const Result<Reply> answer = lives_.ask(who, request, now_);
    const Result<Reply> wanted = rules_.ask(who, request, now_);
    const Result<Reply> again = restarted.ask(who, request, now_);
    EXPECT_EQ(text_of(answer), text_of(wanted)) << request.index() << " by " << who.user;
    EXPECT_EQ(text_of(again), text_of(answer));
    EXPECT_EQ(answer ? "" : answer.error().message, again ? "" : again.error().message);
    expect_no_secret(answer ? text_of(answer) : answer.error().message);
    if (answer) expect_only_own_data(who, *answer);
    compare(restarted, before);
    if (!answer) expect_unchanged_since(before);
    expect_only_own_changes(who, before, database_);
  }

  void login() {
    const std::string user = drawer_.user();
    const ModelDatabase before = database_;
    Access restarted(small(), database_.rows());
    const auto passed = dice_.percent(70) ? Access::Passed::yes : Access::Passed::no;
    const Access::LoginEnd end{user, "10.0.0.1", passed, 30s, drawer_.secret()};
    ASSERT_TRUE(lives_.begin_login(user, "10.0.0.1", now_).has_value());
    const auto as_reply = [](const Result<NewToken>& made) {
      return made ? Result<Reply>(*made) : Result<Reply>(Failure(made.error()));
    };
    const Result<Reply> answer = as_reply(lives_.end_login(end, now_));
    EXPECT_EQ(text_of(answer), text_of(as_reply(rules_.end_login(end, now_))));
    EXPECT_EQ(text_of(answer), text_of(as_reply(restarted.end_login(end, now_))));
    expect_no_secret(answer ? text_of(answer) : answer.error().message);
    compare(restarted, before);
  }

  void tidy() {
    const ModelDatabase before = database_;
    Access restarted(small(), database_.rows());
    lives_.tidy(now_);
    rules_.tidy(now_);
    restarted.tidy(now_);
    compare(restarted, before);
  }

  /// Both cores wrote the same, and the database is what the model says.
  void compare(Access& restarted, ModelDatabase before) {
    settle(lives_);
    before.apply(restarted.take());
    EXPECT_EQ(before, database_);
    EXPECT_EQ(rules_.tables, database_);
    ASSERT_GE(rules_.admins(), 1);
    EXPECT_TRUE(lives_.take().empty());
    for (const auto& [name, row] : database_.users) {
      EXPECT_EQ(lives_.quota_of_user(name), row.max_slots);
    }
    for (const auto& [name, row] : database_.workspaces) EXPECT_EQ(lives_.quota_of_workspace(name), row.max_slots);
  }

  /// But for tokens that had expired: they may go at any time.
  void expect_unchanged_since(ModelDatabase before) const {
    ModelDatabase after = database_;
    for (ModelDatabase* one : {&before, &after}) {
      std::erase_if(one->tokens, [&](const auto& token) { return token.second.has_expired(now_); });
    }
    EXPECT_EQ(before, after) << "refused, and yet something changed";
  }

  static void expect_no_secret(const std::string& text) { EXPECT_EQ(text.find(mark), std::string::npos) << text; }

  Dice& dice_;
  ModelRules rules_;
  Drawer drawer_;
  Access lives_;
  ModelDatabase database_;
  std::vector<Principal> stale_;
  TimePoint now_{1h};
};

TEST(AccessHistory, LimitsEveryRequestToTheRoleOfTheCaller) {
  FOR_SEEDS(600, [](Dice& dice) {
    History history(dice);
    for (int step = 0; step < 150 && !testing::Test::HasFailure(); ++step) {
      history.step();
    }
  });
}

}  // namespace
}  // namespace cadre::access
