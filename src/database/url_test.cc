#include "database/url.h"

#include "database/backend_test.h"

namespace cadre::database {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Url, NamesAFileOrAServer) {
  EXPECT_EQ(std::get<SqliteUrl>(parse_url("sqlite:///a/b.db").value()).path, "/a/b.db");
  EXPECT_EQ(std::get<SqliteUrl>(parse_url("sqlite:b.db").value()).path, "./b.db");
  EXPECT_EQ(std::get<SqliteUrl>(parse_url("sqlite:file:b?mode=memory").value()).path, "./file:b?mode=memory");
  EXPECT_EQ(std::get<SqliteUrl>(parse_url("sqlite::memory:").value()).path, ":memory:");
  EXPECT_EQ(std::get<PostgresUrl>(parse_url("postgresql://u:p@h:1/d").value()).text, "postgresql://u:p@h:1/d");
}

TEST(Url, AWrongOneIsRefusedWithTheFormsThatExistAndWithoutThePassword) {
  for (const char* text :
       {"", "x.db", "/x/secret.db", "sqlite:", "sqlite://", "sqlite://x/y.db", "sqlite:///",
        "mysql://me:secret@host/db", "postgresql:me:secret@host", "postgresql://me:sec@secret@host/db",
        "postgresql://me:sec/secret@host/db", "postgresql://me:sec?secret@host/db", "me:secret@host"}) {
    const auto database = open(text);
    ASSERT_FALSE(database) << text;
    EXPECT_EQ(database.error().code, Errc::invalid) << text;
    EXPECT_THAT(database.error().message,
                AllOf(HasSubstr("sqlite:///absolute/path.db"), HasSubstr("sqlite::memory:"),
                      HasSubstr("postgresql://user:password@host:port/name"), Not(HasSubstr("secret"))));
  }
}

TEST(Url, APasswordIsInNoMessageWhateverGoesWrong) {
  const std::string secret(servers::PostgresServer::password());
  const std::string port = std::to_string(servers::shared_postgres().port());
  const std::string closed = std::to_string(servers::free_port());
  const std::vector<std::pair<std::string, Errc>> cases{
      {"postgresql://cadre:" + secret + "@127.0.0.1:" + closed + "/postgres", Errc::unavailable},
      {"postgresql://cadre:" + secret + "@127.0.0.1:" + port + "/no_such_name", Errc::not_found},
      {"postgresql://cadre:wrong" + secret + "@127.0.0.1:" + port + "/postgres", Errc::denied},
      {"postgresql://cadre:" + secret + "%zz@127.0.0.1:" + port + "/postgres", Errc::invalid},
      {"postgresql://cadre@127.0.0.1:" + port + "/postgres?pasword=" + secret, Errc::invalid},
      {"postgresql://cadre@127.0.0.1:" + port + "/postgres?" + secret, Errc::invalid},
      {"postgresql://cadre@127.0.0.1:" + port + "/postgres?password=x" + secret, Errc::denied},
  };
  for (const auto& [url, code] : cases) {
    const auto database = open(url);
    ASSERT_FALSE(database) << url;
    EXPECT_EQ(to_string(database.error().code), to_string(code)) << url << ": " << database.error().message;
    EXPECT_THAT(database.error().message, Not(HasSubstr(secret)));
  }
}

TEST(Url, AMemoryDatabaseWorksAndIsItsOwn) {
  const auto one = open("sqlite::memory:").value();
  const auto other = open("sqlite::memory:").value();
  ASSERT_DONE(one->exec("CREATE TABLE a (id BIGINT)"));
  ASSERT_DONE(one->transaction([](Transaction& transaction) { return transaction.exec("INSERT INTO a VALUES (1)"); }));
  EXPECT_EQ(cell<std::int64_t>(*one, "SELECT count(*) FROM a"), 1);
  EXPECT_ERROR(Errc::invalid, other->query("SELECT id FROM a"));
}

}  // namespace
}  // namespace cadre::database
