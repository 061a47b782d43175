#include "names/follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cadre::names {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Entry entry(const std::string& key, const std::string& value, std::uint64_t epoch = 1) {
  return {key, value, Epoch{epoch}};
}
Change put(Entry e) { return {Change::Kind::put, std::move(e)}; }
Change gone(Entry e) { return {Change::Kind::gone, std::move(e)}; }

News all(std::vector<Entry> entries) {
  News news;
  news.is_all = true;
  news.put = std::move(entries);
  return news;
}
News since(std::vector<Entry> entries, std::vector<std::string> ended) {
  News news;
  news.put = std::move(entries);
  news.gone = std::move(ended);
  return news;
}

TEST(Follower, TellsOnlyWhatIsNew) {
  Follower follower;
  EXPECT_THAT(follower.take(all({entry("a", "1"), entry("b", "1")})),
              ElementsAre(put(entry("a", "1")), put(entry("b", "1"))));
  EXPECT_THAT(follower.take(all({entry("a", "1"), entry("b", "1")})), IsEmpty());
  EXPECT_THAT(follower.take(since({entry("a", "2")}, {"b", "never there"})),
              ElementsAre(gone(entry("b", "1")), put(entry("a", "2"))));
  EXPECT_THAT(follower.take(since({entry("a", "2", 7)}, {})), ElementsAre(put(entry("a", "2", 7))))
      << "another owner is a change";
  EXPECT_THAT(follower.take(all({entry("c", "1")})), ElementsAre(gone(entry("a", "2", 7)), put(entry("c", "1"))));
  EXPECT_THAT(follower.take(since({}, {})), IsEmpty());
}

}  // namespace
}  // namespace cadre::names
