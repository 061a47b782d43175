#include <map>

#include "base/seeds.h"
#include "records/backend_test.h"
#include "records/rows_test.h"

namespace cadre::records {
namespace {

using cluster::AgentId;
using cluster::GroupId;
using cluster::JobId;
using cluster::TaskId;

/// What the database must hold, said plainly.
struct Model {
  std::map<AgentId, control::AgentRow> agents;
  std::map<std::pair<std::string, GroupId>, control::GroupRow> groups;
  std::map<JobId, control::JobRow> jobs;
  std::map<TaskId, control::TaskRow> tasks;
  std::vector<control::ChangeRow> changes;
  std::uint64_t last_job = 0;

  void apply(const control::Writes& writes) {
    for (const auto& id : writes.agents_gone) agents.erase(id);
    for (const auto& row : writes.agents) agents.insert_or_assign(row.agent.id, row);
    for (const auto& row : writes.groups) groups.insert_or_assign({row.pool, row.id}, row);
    for (const auto& row : writes.new_jobs) jobs.insert_or_assign(row.id, row);
    for (const auto& row : writes.jobs) jobs.insert_or_assign(row.id, row);
    for (const auto& row : writes.tasks) tasks.insert_or_assign(row.id, row);
    for (const auto& row : writes.changes) changes.push_back(row);
  }

  control::Writes random_writes(Dice& dice) {
    control::Writes writes;
    for (std::size_t count = dice.below(4); count > 0; --count) {
      const AgentId id(dice.percent(50) ? "a" + std::to_string(dice.below(5)) : random_name(dice));
      writes.agents.push_back(random_agent(dice, id));
    }
    for (std::size_t count = dice.below(3); count > 0; --count) {
      writes.groups.push_back(random_group(dice, random_name(dice), GroupId("g" + std::to_string(dice.below(4)))));
    }
    if (!agents.empty() && dice.percent(30)) writes.agents_gone.push_back(agents.begin()->first);
    for (const auto& [id, row] : jobs) {
      if (dice.percent(30)) writes.jobs.push_back(random_change_of(dice, row));
    }
    for (std::size_t count = dice.below(6); count > 0; --count) {
      last_job += 1 + dice.below(3);
      writes.new_jobs.push_back(random_job(dice, {last_job}));
    }
    for (std::size_t count = dice.percent(10) ? dice.below(300) : dice.below(10); count > 0 && last_job > 0; --count) {
      const control::JobRow* job = any_job(dice, writes);
      if (job != nullptr)
        writes.tasks.push_back(random_task(dice, {job->id, static_cast<std::uint32_t>(dice.below(9))}));
    }
    const std::uint64_t next = changes.empty() ? 1 : changes.back().number + 1;
    for (std::uint64_t count = dice.below(90), at = 0; at < count; ++at) {
      writes.changes.push_back(random_change(dice, next + at));
    }
    return writes;
  }

  const control::JobRow* any_job(Dice& dice, const control::Writes& writes) const {
    const std::size_t at = dice.below(jobs.size() + writes.new_jobs.size() + 1);
    if (at < jobs.size()) return &std::next(jobs.begin(), static_cast<std::ptrdiff_t>(at))->second;
    return at - jobs.size() < writes.new_jobs.size() ? &writes.new_jobs[at - jobs.size()] : nullptr;
  }
};

void expect_same(const control::AgentRow& a, const control::AgentRow& b) {
  EXPECT_EQ(describe::write_json(a.agent), describe::write_json(b.agent));
  EXPECT_EQ(describe::write_json(a.slots), describe::write_json(b.slots));
  EXPECT_TRUE(a.pool == b.pool && a.host == b.host && a.identity == b.identity && a.version == b.version &&
              a.slot_states == b.slot_states && a.isolation == b.isolation && a.lost == b.lost && a.place == b.place &&
              a.stopped == b.stopped && a.boot == b.boot);
}

void expect_same(const control::GroupRow& a, const control::GroupRow& b) {
  EXPECT_TRUE(a.pool == b.pool && a.id == b.id && a.settings.weight == b.settings.weight &&
              a.settings.max_slots == b.settings.max_slots);
}

void expect_same(const control::ChangeRow& a, const control::ChangeRow& b) {
  EXPECT_TRUE(a.number == b.number && a.time == b.time && a.noun == b.noun && a.id == b.id && a.what == b.what);
}

void expect_same(const control::JobRow& a, const control::JobRow& b) {
  EXPECT_TRUE(a == b) << describe::write_json(a.spec) << '\n' << describe::write_json(b.spec);
}

void expect_same(const control::TaskRow& a, const control::TaskRow& b) { EXPECT_TRUE(a == b) << to_string(a.id); }

template <class Row, class Key>
void expect_same(const std::vector<Row>& found, const std::map<Key, Row>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  std::size_t at = 0;
  for (const auto& [key, row] : wanted) expect_same(found[at++], row);
}

constexpr std::int64_t all = 1'000'000;

class CommitContract : public BothEngines {
 protected:
  static void expect_holds(Records& records, const Model& model) {
    const auto rows = records.load({all, any_bytes});
    ASSERT_TRUE(rows.has_value()) << rows.error().message;
    expect_same(rows->agents, model.agents);
    expect_same(rows->groups, model.groups);
    expect_same(rows->jobs, model.jobs);
    expect_same(rows->tasks, model.tasks);
    EXPECT_EQ(rows->last_job.value, model.last_job);
    EXPECT_EQ(records.last("change").value(), model.changes.empty() ? 0 : model.changes.back().number);
    const auto changes = records.changes_since(0, all);
    ASSERT_TRUE(changes.has_value()) << changes.error().message;
    ASSERT_EQ(changes->size(), model.changes.size());
    for (std::size_t at = 0; at < changes->size(); ++at) expect_same((*changes)[at], model.changes[at]);
  }

  static control::JobRow job(std::uint64_t id) {
    control::JobRow row;
    row.id = {id};
    row.spec.members.emplace_back().command.argv = {"true"};
    return row;
  }
};

TEST_P(CommitContract, EpochsOfNamesOnlyGrowWhateverTheClockSays) {
  const Backend backend(GetParam());
  const TimePoint today(std::chrono::hours(24) * 20'000);
  std::uint64_t last = 0;
  for (const TimePoint wall :
       {today, today - std::chrono::hours(24 * 365), TimePoint{}, today, today + std::chrono::hours(24 * 365), today}) {
    const auto records = open(backend.url());
    ASSERT_DONE(records->begin_boot());
    const auto begin = records->begin_names(wall);
    ASSERT_DONE(begin);
    EXPECT_GT(*begin, last + (last == 0 ? 0 : Records::names_of_one_life - 1));
    last = *begin;
  }
}

TEST_P(CommitContract, EveryFieldSurvivesHoweverOftenItIsWritten) {
  FOR_SEEDS(25, [](Dice& dice) {
    const Backend backend(GetParam());
    auto records = open(backend.url());
    Model model;
    for (int step = 0; step < 6; ++step) {
      const control::Writes writes = model.random_writes(dice);
      model.apply(writes);
      for (int times = dice.percent(30) ? 2 : 1; times > 0; --times) ASSERT_DONE(records->commit(rows_of(writes)));
      if (dice.percent(20)) {
        records.reset();
        records = open(backend.url());
      }
      expect_holds(*records, model);
    }
  });
}

TEST_P(CommitContract, ManyRowsAtOnceAndEachKeyByItsLast) {
  const auto records = open(backend_.url());
  Dice dice(3);
  control::Writes writes;
  for (std::uint64_t id = 1; id <= 333; ++id) {
    writes.new_jobs.push_back(random_job(dice, {id}));
    for (std::uint32_t member = 0; member < 9; ++member) writes.tasks.push_back(random_task(dice, {{id}, member}));
  }
  for (int again = 0; again < 500; ++again) {
    writes.tasks.push_back(random_task(dice, {{1 + dice.below(333)}, static_cast<std::uint32_t>(dice.below(9))}));
  }
  for (std::size_t id = 1; id <= 333; ++id) writes.jobs.push_back(random_change_of(dice, writes.new_jobs[id - 1]));
  Model model;
  model.apply(writes);
  model.last_job = 333;
  ASSERT_DONE(records->commit(rows_of(writes)));
  expect_holds(*records, model);
}

TEST_P(CommitContract, ATaskOfAnUnknownJobIsRefusedWithAllThatCameWithIt) {
  const auto records = open(backend_.url());
  control::Writes writes;
  writes.new_jobs.push_back(job(1));
  writes.tasks.emplace_back().id = {{1}, 0};
  writes.tasks.emplace_back().id = {{2}, 0};
  EXPECT_ERROR(Errc::conflict, records->commit(rows_of(writes)));
  EXPECT_TRUE(records->load({all, any_bytes}).value().jobs.empty());
  EXPECT_EQ(records->load({all, any_bytes}).value().last_job.value, 0U);
  writes.new_jobs.push_back(job(2));
  ASSERT_DONE(records->commit(rows_of(writes)));
  EXPECT_EQ(records->load({all, any_bytes}).value().tasks.size(), 2U);
}

TEST_P(CommitContract, AChangeOfAnUnknownJobIsRefused) {
  const auto records = open(backend_.url());
  control::Writes writes;
  writes.new_jobs.push_back(job(1));
  writes.jobs = {job(1), job(2), job(3), job(4), job(5)};
  EXPECT_ERROR(Errc::not_found, records->commit(rows_of(writes)));
  EXPECT_TRUE(records->load({all, any_bytes}).value().jobs.empty());
}

TEST_P(CommitContract, ColumnsOverrideTheSpec) {
  const auto records = open(backend_.url());
  control::Writes writes;
  writes.new_jobs.push_back(job(1));
  ASSERT_DONE(records->commit(rows_of(writes)));
  ASSERT_DONE(backend_.connect()->exec("UPDATE jobs SET priority = 7, pool = 'p', group_id = 'g'"));
  const cluster::JobSpec spec = records->load({all, any_bytes}).value().jobs.at(0).spec;
  EXPECT_EQ(spec.priority, 7);
  EXPECT_EQ(spec.pool, "p");
  EXPECT_EQ(spec.group, "g");
}

TEST_P(CommitContract, LoadsWhatHasNotEndedAndWhatEndedLast) {
  const auto records = open(backend_.url());
  control::Writes writes;
  for (std::uint64_t id = 1; id <= 300; ++id) {
    control::JobRow& row = writes.new_jobs.emplace_back(job(id));
    if (id % 3 != 0) {  // of these the smaller the later
      row.stage = cluster::JobStage::ended;
      row.ended = TimePoint(Duration(1'000 - static_cast<std::int64_t>(id)));
    }
    for (std::uint32_t member = 0; member < 2; ++member) writes.tasks.emplace_back().id = {{id}, member};
  }
  ASSERT_DONE(records->commit(rows_of(writes)));
  for (const std::int64_t most : {0, 1, 3, 199, 200, 500}) {
    const control::Rows rows = records->load({most, any_bytes}).value();
    std::vector<std::uint64_t> wanted;
    std::int64_t ended = 0;
    for (std::uint64_t id = 1; id <= 300; ++id) {
      if (id % 3 == 0 || ++ended <= most) wanted.push_back(id);
    }
    std::vector<std::uint64_t> found;
    for (const control::JobRow& row : rows.jobs) found.push_back(row.id.value);
    EXPECT_EQ(found, wanted);
    ASSERT_EQ(rows.tasks.size(), 2 * wanted.size());
    for (std::size_t at = 0; at < rows.tasks.size(); ++at) {
      EXPECT_EQ(rows.tasks[at].id, (TaskId{{wanted[at / 2]}, static_cast<std::uint32_t>(at % 2)}));
    }
    EXPECT_EQ(rows.last_job.value, 300U);
  }
}

TEST_P(CommitContract, LoadsEndedJobsOnlyUpToABoundInBytes) {
  const auto records = open(backend_.url());
  control::Writes writes;
  for (std::uint64_t id = 1; id <= 40; ++id) {
    control::JobRow& row = writes.new_jobs.emplace_back(job(id));
    row.spec.members.front().command.variables["LARGE"] = std::string(1'000'000, 'x');
    if (id <= 10) continue;
    row.stage = cluster::JobStage::ended;
    row.ended = TimePoint(Duration(static_cast<std::int64_t>(id)));
  }
  ASSERT_DONE(records->commit(rows_of(writes)));
  const control::Rows rows = records->load({1'000, 5'500'000}).value();
  std::vector<std::uint64_t> found;
  for (const control::JobRow& row : rows.jobs) found.push_back(row.id.value);
  EXPECT_EQ(found, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 36, 37, 38, 39, 40}));
  EXPECT_EQ(rows.ended_jobs, 30);
  EXPECT_GT(rows.ended_bytes, 30'000'000);
  EXPECT_EQ(records->load({1'000, 0}).value().jobs.size(), 10U);
}

TEST_P(CommitContract, NumbersThatWereGivenAreNeverForgotten) {
  auto records = open(backend_.url());
  Dice dice(1);
  control::Writes writes;
  for (std::uint64_t number = 1; number <= 10; ++number) writes.changes.push_back(random_change(dice, number));
  ASSERT_DONE(records->commit(rows_of(writes)));
  EXPECT_EQ(records->prune_changes(20, 100).value(), 0);
  EXPECT_EQ(records->prune_changes(4, 4).value(), 4);
  EXPECT_EQ(records->prune_changes(4, 4).value(), 2);
  EXPECT_EQ(records->prune_changes(4, 4).value(), 0);
  EXPECT_EQ(records->changes_since(0, 2).value().at(0).number, 7U);
  EXPECT_EQ(records->changes_since(0, 2).value().size(), 2U);
  EXPECT_EQ(records->changes_since(9, 100).value().at(0).number, 10U);
  EXPECT_TRUE(records->changes_since(10, 100).value().empty());
  EXPECT_EQ(records->prune_changes(0, 100).value(), 4);
  EXPECT_EQ(records->last("change").value(), 10U);
}

TEST_P(CommitContract, ACorruptRowIsNamedWithItsColumn) {
  const auto records = open(backend_.url());
  control::Writes writes;
  writes.new_jobs.push_back(job(17));
  writes.tasks.emplace_back().id = {{17}, 3};
  control::AgentRow& agent = writes.agents.emplace_back();
  agent.agent.id = AgentId("a1");
  ASSERT_DONE(records->commit(rows_of(writes)));
  const auto db = backend_.connect();
  const std::vector<std::array<std::string, 4>> faults{
      {"tasks", "stage", "'gone'", "table tasks, row 17.3, column stage"},
      {"tasks", "stage", "'running'", "table tasks, row 17.3, column stage: the column agent is empty"},
      {"tasks", "slots", "'[1'", "table tasks, row 17.3, column slots"},
      {"tasks", "rank", "99999999999", "table tasks, row 17.3, column rank"},
      {"jobs", "spec", "'{}'", "table jobs, row 17, column spec"},
      {"jobs", "reason", "''", "table jobs, row 17, column reason"},
      {"agents", "enabled", "2", "table agents, row a1, column enabled"},
      {"agents", "host", "'\x01?'", "table agents, row a1, column host"},
  };
  for (const auto& [table, column, bad, words] : faults) {
    const std::string from = " FROM " + table, set = "UPDATE " + table + " SET " + column + " = ";
    const database::Value good = db->query("SELECT " + column + from).value().cells().at(0).at(0);
    ASSERT_DONE(db->exec(set + bad));
    const auto rows = records->load({all, any_bytes});
    EXPECT_ERROR(Errc::corrupt, rows);
    EXPECT_THAT(rows.error().message, testing::HasSubstr(words));
    ASSERT_DONE(db->exec(set + "$1", {good}));
  }
  ASSERT_DONE(records->load({all, any_bytes}));
}

TEST_P(CommitContract, ANumberTooLargeIsRefusedByName) {
  const auto records = open(backend_.url());
  control::Writes writes;
  writes.new_jobs.push_back(job(1));
  writes.tasks.emplace_back().id = {{1}, 0};
  writes.tasks.back().reports = std::numeric_limits<std::uint64_t>::max();
  const auto done = records->commit(rows_of(writes));
  EXPECT_ERROR(Errc::invalid, done);
  EXPECT_THAT(done.error().message, testing::HasSubstr("table tasks, column reports"));
}

INSTANTIATE_FOR_BOTH_ENGINES(CommitContract);

}  // namespace
}  // namespace cadre::records
