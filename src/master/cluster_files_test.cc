#include "master/cluster_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "records/records_for_tests.h"
#include "tests/servers/results.h"
#include "tests/servers/scratch.h"

namespace cadre::master {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct ClusterFiles : testing::Test {
  ClusterFiles() { fs::create_directories(data.output_folder()); }
  std::unique_ptr<records::Records> open(const std::string& name) {
    return records::open_for_tests("sqlite://" + folder.path() + "/" + name, log).value();
  }
  Result<std::uint64_t> claim(const std::string& name, Adopt adopt = Adopt::no) {
    const auto records = open(name);
    return claim_files(data, *records, adopt, log);
  }
  void write_output() { std::ofstream(data.output_folder() + "/000001.segment") << "x"; }
  bool has_output() const { return fs::exists(data.output_folder() + "/000001.segment"); }
  std::vector<std::string> aside() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(data.path)) {
      if (entry.path().filename().string().starts_with("output.")) names.push_back(entry.path().string());
    }
    return names;
  }

  servers::TempDir folder;
  const cluster::DataFolder data{folder.path() + "/m"};
  SilentLog log;
};

TEST_F(ClusterFiles, OfOneClusterAreTakenAgain) {
  EXPECT_EQ(claim("a.db").value(), 1U);
  write_output();
  EXPECT_EQ(claim("a.db").value(), 2U);
  EXPECT_TRUE(has_output());
}

TEST_F(ClusterFiles, OfAnotherClusterAreRefusedAndSetAside) {
  ASSERT_DONE(claim("a.db"));
  const std::string id = open("a.db")->cluster();
  EXPECT_EQ(id.size(), 32U);
  write_output();
  const auto refused = claim("b.db");
  EXPECT_ERROR(Errc::conflict, refused);
  EXPECT_THAT(refused.error().message, HasSubstr("belongs to cluster " + id));
  EXPECT_THAT(refused.error().message, HasSubstr("--adopt"));
  EXPECT_EQ(open("b.db")->boot(), 0U) << "nothing was changed";
  EXPECT_TRUE(has_output());

  ASSERT_DONE(claim("b.db", Adopt::yes));
  EXPECT_FALSE(has_output());
  ASSERT_EQ(aside().size(), 1U);
  EXPECT_THAT(aside()[0], HasSubstr("output." + id));
  EXPECT_TRUE(fs::exists(aside()[0] + "/000001.segment"));
  ASSERT_DONE(claim("b.db"));
  EXPECT_ERROR(Errc::conflict, claim("a.db"));  // the way back is refused, too
}

TEST_F(ClusterFiles, NewerThanTheDatabaseAreRefusedAndSetAside) {
  ASSERT_DONE(claim("a.db"));
  fs::copy_file(folder.path() + "/a.db", folder.path() + "/backup.db");
  for (int i = 0; i < 3; ++i) ASSERT_DONE(claim("a.db"));
  write_output();
  const auto refused = claim("backup.db");
  EXPECT_ERROR(Errc::conflict, refused);
  EXPECT_THAT(refused.error().message, HasSubstr("restored from a backup"));
  EXPECT_EQ(claim("backup.db", Adopt::yes).value(), 5U) << "above all starts that the files have seen";
  EXPECT_FALSE(has_output());
  ASSERT_DONE(claim("backup.db"));
}

TEST_F(ClusterFiles, WithoutAMarkAreTakenFromAnOlderVersionOnly) {
  write_output();
  EXPECT_ERROR(Errc::conflict, claim("new.db"));
  {
    const auto records = open("old.db");
    ASSERT_DONE(records->begin_boot());  // as an older version did, which gave no id
  }
  ASSERT_DONE(claim("old.db"));
  EXPECT_TRUE(has_output());
}

TEST_F(ClusterFiles, OutputOfALeaseThatWasNeverGivenIsOfAnotherLife) {
  cluster::control::Rows rows;
  rows.last_job = {7};
  cluster::control::JobRow job;
  job.id = {5};
  rows.jobs.push_back(job);
  cluster::control::TaskRow task;
  task.id = {{5}, 0};
  task.lease.epoch = {2};
  rows.tasks.push_back(task);
  EXPECT_TRUE(check_logs(data, {"5.0/1", "5.0/2", "3.4/9", "7.0/1", "what is this"}, rows));
  for (const char* name : {"8.0/1", "5.0/3", "5.1/1"}) {
    const auto checked = check_logs(data, {"5.0/1", name}, rows);
    EXPECT_ERROR(Errc::corrupt, checked);
    EXPECT_THAT(checked.error().message, HasSubstr("--adopt"));
  }
}

}  // namespace
}  // namespace cadre::master
