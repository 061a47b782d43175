#include "database/sql.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cadre::database {
namespace {

using testing::ElementsAre;

TEST(Sql, VerbsAndParametersAreFoundOutsideQuotesAndComments) {
  const Shape shape = shape_of("-- $9;\n select 'it''s; $8', \"a;$7\", $1, $12 /* ; $20 */ ; (SELECT 1); ; update x");
  EXPECT_THAT(shape.verbs, ElementsAre("SELECT", "SELECT", "UPDATE"));
  EXPECT_EQ(shape.parameters, 12);
}

TEST(Sql, TextThatEndsInTheMiddleIsReadToItsEnd) {
  for (const char* text : {"'", "\"", "/*", "--", "$", "select '", "select /*", ";", "(", "$99999999999999999999"}) {
    EXPECT_LE(shape_of(text).verbs.size(), 1) << text;
  }
}

TEST(Sql, OnlyReadingStatementsAreKnown) {
  EXPECT_TRUE(only_reads(" select 1"));
  EXPECT_TRUE(only_reads("VALUES (1)"));
  EXPECT_FALSE(only_reads("WITH a AS (DELETE FROM b RETURNING id) SELECT id FROM a"));
  EXPECT_FALSE(only_reads("SELECT 1; DELETE FROM b"));
  EXPECT_FALSE(only_reads("INSERT INTO b VALUES (1) RETURNING id"));
}

}  // namespace
}  // namespace cadre::database
