#include "access/access_fixture_for_tests.h"
#include "base/seeds.h"
#include "records/backend_test.h"
#include "records/rows_test.h"

namespace cadre::records {
namespace {

using namespace std::chrono_literals;
using access::ModelDatabase;
using access::Role;

constexpr std::int64_t any_count = 1'000'000;
constexpr TimePoint noon{12h};

template <class Map>
const typename Map::mapped_type& any_of(Dice& dice, const Map& map) {
  return std::next(map.begin(), static_cast<std::ptrdiff_t>(dice.below(map.size())))->second;
}

/// Removes a user with everything that belongs to it.
void remove_user(const ModelDatabase& model, const std::string& name, access::Writes& writes) {
  writes.users_gone.push_back(name);
  for (const auto& [id, row] : model.tokens) {
    if (row.user == name) writes.tokens_gone.push_back(id);
  }
  for (const auto& [key, row] : model.members) {
    if (row.user == name) writes.members_gone.push_back(key);
  }
}

void remove_workspace(const ModelDatabase& model, const std::string& name, access::Writes& writes) {
  writes.workspaces_gone.push_back(name);
  for (const auto& [key, row] : model.members) {
    if (row.workspace == name) writes.members_gone.push_back(key);
  }
}

access::Writes random_writes(Dice& dice, const ModelDatabase& model) {
  access::Writes writes;
  if (!model.users.empty() && dice.percent(30)) remove_user(model, any_of(dice, model.users).name, writes);
  if (!model.workspaces.empty() && dice.percent(30)) {
    remove_workspace(model, any_of(dice, model.workspaces).name, writes);
  }
  if (!model.keys.empty() && dice.percent(30)) {
    const access::IdempotencyRow& row = any_of(dice, model.keys);
    writes.keys_gone.emplace_back(row.user, row.key);
  }
  for (std::size_t count = dice.below(6); count > 0; --count) {
    writes.keys.push_back({random_name(dice), "k" + std::to_string(dice.below(9)), random_name(dice), "job",
                           std::to_string(dice.below(99)), noon + Duration(dice.below(99))});
  }
  if (!model.tokens.empty() && dice.percent(30)) writes.tokens_gone.push_back(any_of(dice, model.tokens).id);
  const auto name = [&](const char* kind) {
    return dice.percent(50) ? kind + std::to_string(dice.below(5)) : random_name(dice);
  };
  for (std::size_t count = dice.below(6); count > 0; --count) writes.users.push_back(random_user(dice, name("u")));
  for (std::size_t count = dice.below(4); count > 0; --count) {
    writes.workspaces.push_back(random_workspace(dice, name("w")));
  }
  ModelDatabase later = model;
  later.apply(writes);
  if (later.users.empty()) return writes;
  for (std::size_t count = dice.percent(10) ? dice.below(200) : dice.below(9); count > 0; --count) {
    writes.tokens.push_back(random_token(dice, name("t"), any_of(dice, later.users).name));
  }
  for (std::size_t count = dice.below(9); count > 0 && !later.workspaces.empty(); --count) {
    writes.members.push_back(
        {any_of(dice, later.workspaces).name, any_of(dice, later.users).name, random_enum<Role>(dice)});
  }
  const std::uint64_t next = model.audit.empty() ? 1 : model.audit.back().number + 1;
  for (std::uint64_t count = dice.below(90), at = 0; at < count; ++at) {
    writes.audit.push_back(random_audit(dice, next + at));
  }
  return writes;
}

class AccessContract : public BothEngines {
 protected:
  static void expect_holds(Records& records, const ModelDatabase& model) {
    const auto found = load_access(records);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    const access::Rows wanted = model.rows();
    EXPECT_EQ(found->users, wanted.users);
    EXPECT_EQ(found->tokens, wanted.tokens);
    EXPECT_EQ(found->workspaces, wanted.workspaces);
    EXPECT_EQ(found->members, wanted.members);
    EXPECT_EQ(found->keys, wanted.keys);
    EXPECT_EQ(found->last_audit, wanted.last_audit);
    auto audit = records.audit_before(0, any_count);
    ASSERT_TRUE(audit.has_value()) << audit.error().message;
    std::reverse(audit->begin(), audit->end());
    EXPECT_EQ(*audit, model.audit);
  }

  /// A user, a workspace with this user as viewer, and a token.
  static access::Writes one_of_each() {
    access::Writes writes;
    writes.users = {{"ann", "hash", false, true, 4, noon, ""}};
    writes.workspaces = {{"lab", {}, noon}};
    writes.tokens = {{"t1", "hash", "ann", "a script", noon, {}}};
    writes.members = {{"lab", "ann", Role::viewer}};
    return writes;
  }
};

TEST_P(AccessContract, EveryFieldSurvivesHoweverOftenItIsWritten) {
  FOR_SEEDS(25, [](Dice& dice) {
    const Backend backend(GetParam());
    auto records = open(backend.url());
    ModelDatabase model;
    for (int step = 0; step < 8; ++step) {
      const access::Writes writes = random_writes(dice, model);
      model.apply(writes);
      for (int times = dice.percent(30) ? 2 : 1; times > 0; --times) ASSERT_DONE(records->commit(rows_of({}, writes)));
      if (dice.percent(20)) {
        records.reset();
        records = open(backend.url());
      }
      expect_holds(*records, model);
    }
  });
}

TEST_P(AccessContract, TheCoreFindsItselfAgainAfterEveryStep) {
  const auto records = open(backend_.url());
  ModelDatabase model;
  const auto step = [&](auto act) {
    access::Access core({}, load_access(*records).value());
    act(core);
    const access::Writes writes = core.take();
    model.apply(writes);
    ASSERT_DONE(records->commit(rows_of({}, writes)));
    expect_holds(*records, model);
  };
  const auto ask = [&](const access::Request& request) {
    step([&](access::Access& core) {
      const access::Principal admin = core.who("hash", noon).value();
      ASSERT_DONE(core.ask(admin, request, noon));
    });
  };
  step([](access::Access& core) {
    core.found(noon);
    ASSERT_DONE(core.put_token({"t1", "hash", "admin", "", noon, {}}));
    core.audit({0, noon, "admin", "t1", "", "found", "", true, ""});
  });
  ask(access::CreateUser{"ann", "hash of a password", false, 4, ""});
  ask(access::CreateToken{"", "ann", 1h, {"t2", "hash 2"}});
  ask(access::CreateWorkspace{"lab", 8});
  ask(access::SetMember{"lab", "ann", Role::editor});
  ask(access::SetMember{"lab", "ann", Role::admin});
  ask(access::DeleteUser{"ann"});
  ask(access::CreateUser{"ann", "", true, access::unlimited, ""});
  ask(access::DeleteWorkspace{"lab"});
  step([](access::Access& core) { core.audit({0, noon, "admin", "t1", "", "delete_workspace", "lab", true, ""}); });
  EXPECT_EQ(model.users.size(), 2U);
  EXPECT_EQ(model.audit.size(), 2U);
}

TEST_P(AccessContract, CommitsAtomicallyWithOtherWrites) {
  const auto records = open(backend_.url());
  control::Writes writes;
  writes.changes.push_back({1, noon, "job", "1", "queued", ""});
  writes.tasks.emplace_back().id = {{1}, 0};  // of no job
  EXPECT_ERROR(Errc::conflict, records->commit(rows_of(writes, one_of_each())));
  EXPECT_TRUE(load_access(*records).value().users.empty());
  writes.tasks.clear();
  access::Writes stray;
  stray.tokens = {{"t1", "hash", "nobody", "", noon, {}}};
  EXPECT_ERROR(Errc::conflict, records->commit(rows_of(writes, stray)));
  EXPECT_TRUE(records->changes_since(0, any_count).value().empty());
  ASSERT_DONE(records->commit(rows_of(writes, one_of_each())));
  EXPECT_EQ(records->changes_since(0, any_count).value().size(), 1U);
  EXPECT_EQ(load_access(*records).value().users.size(), 1U);
}

TEST_P(AccessContract, RefusesRolesOfMissingUsersAndWorkspaces) {
  const auto records = open(backend_.url());
  ASSERT_DONE(records->commit(rows_of({}, one_of_each())));
  access::Writes no_user, no_workspace, user_with_rest, workspace_with_rest;
  no_user.members = {{"lab", "bob", Role::viewer}};
  no_workspace.members = {{"moon", "ann", Role::viewer}};
  user_with_rest.users_gone = {"ann"};
  workspace_with_rest.workspaces_gone = {"lab"};
  for (const access::Writes& writes : {no_user, no_workspace, user_with_rest, workspace_with_rest}) {
    EXPECT_ERROR(Errc::conflict, records->commit(rows_of({}, writes)));
  }
  ModelDatabase model;
  model.apply(one_of_each());
  expect_holds(*records, model);
}

TEST_P(AccessContract, RemovingAndCreatingARowInOneTransactionCreatesIt) {
  const auto records = open(backend_.url());
  ASSERT_DONE(records->commit(rows_of({}, one_of_each())));
  access::Writes writes;
  writes.users_gone = {"ann"};
  writes.workspaces_gone = {"lab"};
  writes.tokens_gone = {"t1"};
  writes.members_gone = {{"lab", "ann"}};
  writes.users = {{"ann", "", true, false, {}, noon, ""}};
  ModelDatabase model;
  model.apply(writes);
  ASSERT_DONE(records->commit(rows_of({}, writes)));
  expect_holds(*records, model);
}

TEST_P(AccessContract, TheAuditIsReadBackwardsPageByPage) {
  const auto records = open(backend_.url());
  Dice dice(1);
  access::Writes writes;
  for (std::uint64_t number = 1; number <= 10; ++number) writes.audit.push_back(random_audit(dice, number));
  ASSERT_DONE(records->commit(rows_of({}, writes)));
  const auto numbers = [&](std::uint64_t before, std::int64_t limit) {
    std::vector<std::uint64_t> list;
    const std::vector<access::AuditRow> rows = records->audit_before(before, limit).value();
    for (const access::AuditRow& row : rows) list.push_back(row.number);
    return list;
  };
  using List = std::vector<std::uint64_t>;
  EXPECT_EQ(numbers(0, 3), (List{10, 9, 8}));
  EXPECT_EQ(numbers(8, 3), (List{7, 6, 5}));
  EXPECT_EQ(numbers(3, 100), (List{2, 1}));
  EXPECT_EQ(numbers(1, 100), List{});
  EXPECT_EQ(numbers(~std::uint64_t{0}, 1), List{10});
  EXPECT_EQ(numbers(0, -1), List{});
}

TEST_P(AccessContract, NumbersOfTheAuditAreNeverForgotten) {
  auto records = open(backend_.url());
  Dice dice(1);
  access::Writes writes;
  for (std::uint64_t number = 1; number <= 10; ++number) writes.audit.push_back(random_audit(dice, number));
  ASSERT_DONE(records->commit(rows_of({}, writes)));
  EXPECT_EQ(records->prune_audit(20, 100).value(), 0);
  EXPECT_EQ(records->prune_audit(4, 4).value(), 4);
  EXPECT_EQ(records->prune_audit(4, 4).value(), 2);
  EXPECT_EQ(records->prune_audit(4, 4).value(), 0);
  EXPECT_EQ(records->audit_before(0, 100).value().back().number, 7U);
  EXPECT_EQ(records->prune_audit(0, 100).value(), 4);
  EXPECT_TRUE(records->audit_before(0, 100).value().empty());
  records.reset();
  records = open(backend_.url());
  EXPECT_EQ(load_access(*records).value().last_audit, 10U);
}

TEST_P(AccessContract, AMasterThatWasReplacedWritesNoUsers) {
  const auto records = open(backend_.url());
  ASSERT_DONE(backend_.connect()->exec("UPDATE master SET boot = boot + 1"));
  EXPECT_ERROR(Errc::denied, records->commit(rows_of({}, one_of_each())));
  EXPECT_ERROR(Errc::denied, load_access(*records));
  EXPECT_ERROR(Errc::denied, records->prune_audit(0, 1));
}

struct Fault {
  std::string table;
  std::string column;
  std::string bad;  ///< in SQL
  std::string row;

  std::string select() const { return "SELECT " + column + " FROM " + table; }
  std::string set(const std::string& to) const { return "UPDATE " + table + " SET " + column + " = " + to; }
  std::string words() const { return "table " + table + ", row " + row + ", column " + column; }
};

TEST_P(AccessContract, ACorruptRowIsNamedWithItsColumn) {
  const auto records = open(backend_.url());
  ASSERT_DONE(records->commit(rows_of({}, one_of_each())));
  const auto db = backend_.connect();
  const std::vector<Fault> faults{
      {"users", "is_admin", "2", "ann"},        {"users", "password", "'\x01?'", "ann"},
      {"users", "max_slots", "-2", "ann"},      {"tokens", "name", "'\x01?'", "t1"},
      {"workspaces", "max_slots", "-2", "lab"}, {"members", "role", "'king'", "lab.ann"},
  };
  for (const Fault& fault : faults) {
    const database::Value good = db->query(fault.select()).value().cells().at(0).at(0);
    ASSERT_DONE(db->exec(fault.set(fault.bad)));
    const auto rows = load_access(*records);
    EXPECT_ERROR(Errc::corrupt, rows);
    EXPECT_THAT(rows.error().message, testing::HasSubstr(fault.words()));
    ASSERT_DONE(db->exec(fault.set("$1"), {good}));
  }
  ASSERT_DONE(load_access(*records));
}

INSTANTIATE_FOR_BOTH_ENGINES(AccessContract);

}  // namespace
}  // namespace cadre::records
