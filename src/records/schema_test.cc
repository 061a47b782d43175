#include "records/schema.h"

#include "database/migrate.h"
#include "records/backend_test.h"

namespace cadre::records {
namespace {

class SchemaContract : public BothEngines {
 protected:
  std::vector<database::Values> cells(const std::string& sql) { return backend_.connect()->query(sql).value().cells(); }
};

/// As a master of the first schema left it: a job with a task that has ended, an agent and two changes.
constexpr std::string_view rows_of_the_first = R"(
UPDATE master SET boot = 3, last_job = 17, last_change = 2;
INSERT INTO agents VALUES ('a1', 'default', 'host', 'key', '1', 0, 'cuda', 4000, 0, 1, 0, 0, '{}', '[]', '[]', '[]');
INSERT INTO jobs VALUES (17, '{"members": [{"command": {"argv": ["true"]}}]}', 'old', 'default', 42, '', 0, 1.5,
  'ended', 1, 2, 3, 4, 'exited', 0, '', -1, 1, '');
INSERT INTO tasks VALUES (17, 0, 0, 0, 0, 1, 'ended', 1, '', 0, '', 0, 'exited', 0, 'a1', '[]', 1, 2, 3, 'exited', 0, '',
  0, 0, 0, 0, 0, 0, '');
INSERT INTO changes VALUES (1, 5, 'job', '17', 'queued');
INSERT INTO changes VALUES (2, 6, 'job', '17', 'ended');
INSERT INTO join_tokens VALUES ('h1', 0, 'default', 0, '');
)";

TEST_P(SchemaContract, ADatabaseOfTheFirstSchemaIsBroughtOnWithItsRows) {
  {
    const auto db = backend_.connect();
    ASSERT_DONE(database::migrate(*db, "", migrations().first(1), silent_log()));
    ASSERT_DONE(db->transaction([](database::Transaction& transaction) -> Result<void> {
      for (std::string_view left = rows_of_the_first; left.find(';') != std::string_view::npos;) {
        const std::size_t end = left.find(';');
        TRY(transaction.exec(left.substr(0, end)));
        left.remove_prefix(end + 1);
      }
      return {};
    }));
  }
  const auto records = open(backend_.url());
  EXPECT_EQ(records->begin_boot().value(), 4U);
  const auto rows = records->load({10, any_bytes});
  ASSERT_DONE(rows);
  ASSERT_EQ(rows->jobs.size(), 1U);
  EXPECT_EQ(rows->jobs[0].spec.name, "old");
  EXPECT_EQ(rows->tasks.size(), 1U);
  EXPECT_EQ(rows->agents.size(), 1U);
  EXPECT_EQ(rows->last_job.value, 17U);
  EXPECT_EQ(records->changes_since(0, 10).value().size(), 2U);
  ASSERT_DONE(records->use_join_token({"h1", cluster::AgentId("a2"), "key", TimePoint(Duration(1))}));

  using database::Value;
  using database::Values;
  EXPECT_EQ(cells("SELECT workspace, owner FROM jobs"), (std::vector<Values>{{Value("default"), Value("admin")}}));
  EXPECT_EQ(cells("SELECT calls, errors FROM tasks"),
            (std::vector<Values>{{Value(std::int64_t{0}), Value(std::int64_t{0})}}));
  EXPECT_EQ(rows->tasks[0].announcement, "");
  EXPECT_EQ(cells("SELECT workspace FROM changes"), (std::vector<Values>{{Value("")}, {Value("")}}));
  const access::Rows access = load_access(*records).value();
  EXPECT_TRUE(access.users.empty() && access.tokens.empty() && access.workspaces.empty() && access.members.empty());
  EXPECT_EQ(access.last_audit, 0U);
}

TEST_P(SchemaContract, APartAddsToItsTablesInItsOwnFolder) {
  open(backend_.url()).reset();
  api::PartType part = cluster::control::ClusterPart::type({});
  part.migrations = {{1, "a column of an old table", "ALTER TABLE jobs ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'"}};
  Declared declared = declared_for_tests();
  declared.add_schema(part);
  ASSERT_DONE(Records::open(backend_.url(), silent_log(), declared));
  ASSERT_DONE(backend_.connect()->query("SELECT colour FROM jobs"));
  ASSERT_DONE(Records::open(backend_.url(), silent_log(), declared));  // once
}

INSTANTIATE_FOR_BOTH_ENGINES(SchemaContract);

}  // namespace
}  // namespace cadre::records
