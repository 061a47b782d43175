#include "agent/code_cache.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "describe/describe.h"
#include "loop/deep_folders_for_tests.h"
#include "loop/file.h"
#include "loop/real_loop.h"
#include "loop/thread_pool.h"
#include "net/memory_network.h"
#include "objects/hash.h"
#include "objects/pack.h"
#include "objects/tree_for_tests.h"
#include "tests/servers/scratch.h"

namespace cadre::agent {
namespace {

namespace bulk = cluster::bulk;
using objects::read_whole;
using objects::write_file;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Gives content by its hash, in small parts, and not always at once.
class FakeMaster {
 public:
  explicit FakeMaster(net::Network& network) {
    hub_ = network
               .bind({{"ipc:///bulk"}, {}, net::Admission::only({}), {}},
                     [this](const net::Peer& peer, BytesView bytes) { serve(peer, bytes); })
               .value();
  }

  std::string put(const std::string& folder) {
    const std::string file = scratch_.path() + "/packed";
    const std::string hash = objects::pack(folder, file, {}).value().hash;
    contents[hash] = read_whole(file);
    return hash;
  }

  std::map<std::string, std::string> contents;
  int asked = 0;
  int silent = 0;       ///< so many questions are not answered
  int unavailable = 0;  ///< so many are refused for now

 private:
  void serve(const net::Peer& peer, BytesView bytes) {
    const auto message = describe::read_msgpack<bulk::ToMaster>(bytes).value();
    const auto& question = std::get<bulk::GetBlob>(message);
    ++asked;
    if (silent > 0 && silent-- > 0) return;
    const auto content = contents.find(question.hash);
    if (unavailable > 0 && unavailable-- > 0) {
      say(peer, bulk::Refused{question.number, Errc::unavailable, "later"});
    } else if (content == contents.end()) {
      say(peer, bulk::Refused{question.number, Errc::not_found, "no such content"});
    } else {
      const auto part = as_bytes(content->second).subspan(static_cast<std::size_t>(question.offset));
      const auto some = part.first(std::min<std::size_t>(part.size(), 1'000));
      say(peer, bulk::BlobPart{question.number, static_cast<std::int64_t>(content->second.size()), question.offset,
                               Bytes(some.begin(), some.end())});
    }
  }
  void say(const net::Peer& peer, const bulk::FromMaster& message) {
    ASSERT_TRUE(hub_->send(peer, describe::write_msgpack(message)));
  }

  servers::TempDir scratch_;
  std::unique_ptr<net::Hub> hub_;
};

struct CodeCacheTest : testing::Test {
  CodeCacheTest() {
    EXPECT_TRUE(link.connect({"ipc:///bulk", {}, {}, {}}));
    options.folder = scratch.path() + "/cache";
    options.answer_max = milliseconds(50);
    open();
  }

  void open() {
    cache.reset();
    cache = CodeCache::open(options, loop, pool, link, log).value();
  }

  static loop::Task<void> place_into(CodeCache& cache, CodeRequest request, std::string folder, Result<void>& result,
                                     int& left) {
    result = co_await cache.place(std::move(request), std::move(folder));
    --left;
  }
  static loop::Task<void> fetch_into(CodeCache& cache, CodeRequest request,
                                     std::optional<Result<CodeCache::Tree>>& result, int& left) {
    result.emplace(co_await cache.fetch(std::move(request)));
    --left;
  }

  void run_until(const std::function<bool()>& holds) {
    const TimePoint end = loop.now() + seconds(30);
    loop::Timer timer;
    std::function<void()> look = [&] {
      if (holds() || loop.now() >= end) return loop.stop();
      timer = loop.after(milliseconds(1), look);
    };
    look();
    loop.run();
    EXPECT_TRUE(holds());
  }

  Result<void> place(const CodeRequest& request, const std::string& folder) {
    Result<void> result;
    int left = 1;
    loop.spawn(place_into(*cache, request, folder, result, left));
    run_until([&] { return left == 0; });
    return result;
  }
  static loop::Task<void> publish_from(CodeCache& cache, CodeRequest request, std::string folder, Result<void>& result,
                                       int& left) {
    result = co_await cache.publish(std::move(request), std::move(folder));
    --left;
  }
  Result<void> publish(const CodeRequest& request, const std::string& folder) {
    Result<void> result;
    int left = 1;
    loop.spawn(publish_from(*cache, request, folder, result, left));
    run_until([&] { return left == 0; });
    return result;
  }
  Result<CodeCache::Tree> fetch(const CodeRequest& request) {
    std::optional<Result<CodeCache::Tree>> result;
    int left = 1;
    loop.spawn(fetch_into(*cache, request, result, left));
    run_until([&] { return left == 0; });
    return *std::move(result);
  }

  std::string new_code(const std::string& text) {
    const std::string folder = scratch.path() + "/code" + std::to_string(++codes);
    write_file(folder + "/main.txt", text);
    write_file(folder + "/deep/er/x", std::string(5'000, 'x'));
    return master.put(folder);
  }
  std::string out() { return scratch.path() + "/out" + std::to_string(++outs); }

  servers::TempDir scratch;
  SilentLog log;
  loop::RealLoop loop;
  loop::ThreadPool pool{loop, {"files", 2, 64}};
  net::MemoryNetwork network{loop};
  FakeMaster master{network.host("one")};
  BulkLink link{network.host("one"), log};
  CodeCacheOptions options;
  std::unique_ptr<CodeCache> cache;
  int codes = 0;
  int outs = 0;
};

TEST_F(CodeCacheTest, EachTaskGetsACopyOfCodeThatIsFetchedOnce) {
  const std::string hash = new_code("hello");
  std::vector<std::string> folders;
  std::vector<Result<void>> results(5);
  int left = 5;
  for (int i = 0; i < 5; ++i) {
    folders.push_back(out());
    loop.spawn(place_into(*cache, {hash, {}, {}, ""}, folders.back(), results[static_cast<std::size_t>(i)], left));
  }
  run_until([&] { return left == 0; });
  const int parts = static_cast<int>((master.contents[hash].size() + 999) / 1'000);
  EXPECT_EQ(master.asked, parts);
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(results[i]) << results[i].error().message;
    EXPECT_EQ(read_whole(folders[i] + "/main.txt"), "hello");
    write_file(folders[i] + "/main.txt", "changed by its task");
  }
  const std::string later = out();
  ASSERT_TRUE(place({hash, {}, {}, ""}, later));
  EXPECT_EQ(read_whole(later + "/main.txt"), "hello");
  EXPECT_EQ(master.asked, parts);
}

TEST_F(CodeCacheTest, AsksAgainWhenNoAnswerComes) {
  const std::string hash = new_code("hello");
  master.silent = 3;
  ASSERT_TRUE(place({hash, {}, {}, ""}, out()));
  EXPECT_GE(master.asked, 3 + static_cast<int>((master.contents[hash].size() + 999) / 1'000));  // more on a slow host
  options.stall_max = milliseconds(200);
  open();
  master.silent = 1'000;
  const Result<void> placed = place({objects::sha256({}), {}, {}, ""}, out());
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().code, Errc::timed_out);
}

TEST_F(CodeCacheTest, SaysWhatIsWrongWithContent) {
  EXPECT_EQ(place({"nonsense", {}, {}, ""}, out()).error().code, Errc::invalid);
  EXPECT_EQ(place({objects::sha256({}), {}, {}, ""}, out()).error().code, Errc::not_found);
  const std::string hash = new_code("hello");
  const std::string right = master.contents[hash];
  master.contents[hash].back() ^= 1;
  EXPECT_EQ(place({hash, {}, {}, ""}, out()).error().code, Errc::corrupt);
  const std::string other = objects::sha256(as_bytes("not packed"));
  master.contents[other] = "not packed";
  EXPECT_EQ(place({other, {}, {}, ""}, out()).error().code, Errc::corrupt);
  EXPECT_EQ(cache->size().value, 0);
  master.contents[hash] = right;
  EXPECT_TRUE(place({hash, {}, {}, ""}, out()));
}

TEST_F(CodeCacheTest, KeepsWhatASetupMadeForTheSameCodeCommandsAndScope) {
  const std::string hash = new_code("hello");
  const CodeRequest request{hash, {"make"}, {{"WHO", "me"}}, "ann"};
  EXPECT_FALSE(cache->has(request));
  EXPECT_EQ(place(request, out()).error().code, Errc::not_found);
  const std::string made = scratch.path() + "/made";
  ASSERT_TRUE(place({hash, {}, {}, ""}, made));
  write_file(made + "/built", "by make");
  ASSERT_EQ(mkfifo((made + "/pipe").c_str(), 0600), 0);  // what is neither file nor folder nor link is left out
  ASSERT_TRUE(publish(request, made));
  write_file(made + "/built", "changed by the task");
  EXPECT_TRUE(cache->has(request));
  open();
  const std::string again = out();
  ASSERT_TRUE(place(request, again));
  EXPECT_EQ(read_whole(again + "/built"), "by make");
  EXPECT_EQ(read_whole(again + "/main.txt"), "hello");
  EXPECT_FALSE(std::filesystem::exists(again + "/pipe"));
  const std::string plain = out();
  ASSERT_TRUE(place({hash, {}, {}, ""}, plain));
  EXPECT_FALSE(std::filesystem::exists(plain + "/built"));
  for (const CodeRequest& other :
       {CodeRequest{hash, {"make"}, {{"WHO", "me"}}, "bob"}, CodeRequest{hash, {"make"}, {{"WHO", "you"}}, "ann"},
        CodeRequest{hash, {"make", "make"}, {{"WHO", "me"}}, "ann"},
        CodeRequest{"", {"make"}, {{"WHO", "me"}}, "ann"}}) {
    EXPECT_FALSE(cache->has(other));
  }
}

TEST_F(CodeCacheTest, KeepsNothingThatIsTooLarge) {
  options.unpacked_bytes_max = ByteSize{1'000};
  open();
  const CodeRequest request{"", {"make"}, {}, "ann"};
  const std::string made = scratch.path() + "/made";
  write_file(made + "/large", std::string(10'000, 'x'));
  EXPECT_EQ(publish(request, made).error().code, Errc::invalid);
  EXPECT_FALSE(cache->has(request));
}

TEST_F(CodeCacheTest, KeepsHolesInFilesAsHoles) {
  const CodeRequest request{"", {"make"}, {}, "ann"};
  const std::string made = scratch.path() + "/made";
  write_file(made + "/hole", "begin");
  std::filesystem::resize_file(made + "/hole", std::uintmax_t{3} << 30);
  ASSERT_TRUE(publish(request, made));
  EXPECT_LT(cache->size(), ByteSize{1 << 20});
  const std::string again = out();
  ASSERT_TRUE(place(request, again));
  EXPECT_EQ(std::filesystem::file_size(again + "/hole"), std::uintmax_t{3} << 30);
}

TEST_F(CodeCacheTest, KeepsNoTreeThatIsOutOfBounds) {
  options.setup_length_max = ByteSize{1 << 20};
  options.setup_entries_max = 10;
  open();
  const CodeRequest request{"", {"make"}, {}, "ann"};
  const std::string made = scratch.path() + "/made";
  write_file(made + "/hole", "x");
  std::filesystem::resize_file(made + "/hole", (1 << 20) + 1);
  EXPECT_EQ(publish(request, made).error().message, "it takes more than 1MiB in files, with the holes in them");
  std::filesystem::resize_file(made + "/hole", 1 << 20);
  EXPECT_TRUE(publish(request, made));
  const CodeRequest other{"", {"make", "make"}, {}, "ann"};
  for (int i = 0; i < 10; ++i) write_file(made + "/file" + std::to_string(i), "");
  EXPECT_EQ(publish(other, made).error().message, "it has more than 10 files and folders");
  const std::string deep = scratch.path() + "/deep";
  std::filesystem::create_directory(deep);
  loop::make_deep_folders(deep, 300);
  options.setup_entries_max = 100'000;
  open();
  EXPECT_EQ(publish(other, deep).error().message, "its folders are nested deeper than 128 levels");
  EXPECT_FALSE(cache->has(other));
  ASSERT_TRUE(loop::remove_all(deep));
}

TEST_F(CodeCacheTest, EvictsTheLeastRecentlyUsedEntryThatIsNotInUse) {
  std::vector<std::string> hashes;
  for (int i = 0; i < 4; ++i) hashes.push_back(new_code(std::to_string(i)));
  ASSERT_TRUE(place({hashes[0], {}, {}, ""}, out()));
  options.bytes_max = ByteSize{cache->size().value * 5 / 2};
  open();
  const auto in_use = fetch({hashes[0], {}, {}, ""});
  ASSERT_TRUE(in_use);
  for (int i = 1; i < 4; ++i) ASSERT_TRUE(place({hashes[static_cast<std::size_t>(i)], {}, {}, ""}, out()));
  EXPECT_LE(cache->size(), options.bytes_max);
  const auto is_cached = [&](int i) {
    const int before = master.asked;
    EXPECT_TRUE(place({hashes[static_cast<std::size_t>(i)], {}, {}, ""}, out()));
    return master.asked == before;
  };
  EXPECT_TRUE(is_cached(0));
  EXPECT_EQ(read_whole(in_use->path() + "/main.txt"), "0");
  EXPECT_TRUE(is_cached(3));
  EXPECT_FALSE(is_cached(1));
}

TEST_F(CodeCacheTest, TreesOutliveTheAgentButNotTheHost) {
  const std::string hash = new_code("hello");
  ASSERT_TRUE(place({hash, {}, {}, ""}, out()));
  const std::int64_t size = cache->size().value;
  EXPECT_GT(size, 5'000);
  write_file(options.folder + "/making/7/half", "x");
  const int asked = master.asked;
  open();
  EXPECT_EQ(cache->size().value, size);
  EXPECT_FALSE(std::filesystem::exists(options.folder + "/making/7"));
  ASSERT_TRUE(place({hash, {}, {}, ""}, out()));
  EXPECT_EQ(master.asked, asked);
  cache.reset();
  write_file(options.folder + "/boot", "another start of the host");
  open();
  EXPECT_EQ(cache->size().value, 0);
  ASSERT_TRUE(place({hash, {}, {}, ""}, out()));
  EXPECT_GT(master.asked, asked);
}

TEST_F(CodeCacheTest, CancellingOneCallerDoesNotCancelOthers) {
  const std::string hash = new_code("hello");
  std::optional<Result<CodeCache::Tree>> result;
  int left = 1;
  loop.spawn(fetch_into(*cache, {hash, {}, {}, ""}, result, left));
  run_until([&] { return master.asked > 0; });
  loop.destroy_tasks();
  EXPECT_EQ(left, 1);
  EXPECT_TRUE(place({hash, {}, {}, ""}, out()));
}

}  // namespace
}  // namespace cadre::agent
