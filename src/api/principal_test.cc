#include "api/principal.h"

#include <gtest/gtest.h>

namespace cadre::api {
namespace {

Principal ann_as(Role role) { return {"ann", false, {{"lab", role}}, "t1", ""}; }

TEST(Principal, AViewerOnlyReads) {
  const Principal ann = ann_as(Role::viewer);
  EXPECT_TRUE(may_read(ann, "lab"));
  EXPECT_FALSE(may_create(ann, "lab"));
  EXPECT_FALSE(may_change(ann, "lab", "ann"));
}

TEST(Principal, AnEditorCreatesObjectsAndChangesTheirOwn) {
  const Principal ann = ann_as(Role::editor);
  EXPECT_TRUE(may_read(ann, "lab"));
  EXPECT_TRUE(may_create(ann, "lab"));
  EXPECT_TRUE(may_change(ann, "lab", "ann"));
  EXPECT_FALSE(may_change(ann, "lab", "bob"));
}

TEST(Principal, AnAdminOfAWorkspaceDoesAllInIt) {
  const Principal ann = ann_as(Role::admin);
  EXPECT_TRUE(may_read(ann, "lab"));
  EXPECT_TRUE(may_create(ann, "lab"));
  EXPECT_TRUE(may_change(ann, "lab", "bob"));
}

TEST(Principal, DeniesEverythingWithoutARole) {
  for (const Role role : {Role::viewer, Role::editor, Role::admin}) {
    const Principal ann = ann_as(role);
    EXPECT_FALSE(may_read(ann, "moon"));
    EXPECT_FALSE(may_create(ann, "moon"));
    EXPECT_FALSE(may_change(ann, "moon", "ann"));
  }
}

TEST(Principal, AnAdminOfTheClusterDoesAllEverywhere) {
  const Principal admin{"admin", true, {{"lab", Role::viewer}}, "", ""};
  for (const char* workspace : {"lab", "moon"}) {
    EXPECT_TRUE(may_read(admin, workspace));
    EXPECT_TRUE(may_create(admin, workspace));
    EXPECT_TRUE(may_change(admin, workspace, "ann"));
  }
}

}  // namespace
}  // namespace cadre::api
