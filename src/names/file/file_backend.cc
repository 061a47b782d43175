#include "names/file/file_backend.h"

#include <chrono>
#include <deque>
#include <functional>
#include <utility>

#include "loop/boot_clock.h"
#include "loop/pending.h"
#include "names/file/file_tree.h"
#include "names/session_name.h"

namespace cadre::names {

namespace {

constexpr std::size_t waiting_max = 1'024;  // questions for the folder
constexpr int first_looks = 4;              // each at half the time of the next, for what is about to come

template <class T>
using Question = std::function<Result<T>(FileTree&)>;

class FileBackend final : public Backend, public std::enable_shared_from_this<FileBackend> {
 public:
  FileBackend(loop::Loop& loop, loop::BlockingPool& pool, FileTreeOptions tree, const Options& options)
      : loop_(loop), pool_(pool), options_(options), folder_(tree.folder), tree_(std::move(tree), loop::boot_now) {}

  loop::Task<Result<Epoch>> put(const Claim& claim, PutMode mode, TimePoint deadline) override {
    return ask<Epoch>([claim, mode](FileTree& tree) { return tree.put(claim, mode); }, deadline);
  }
  loop::Task<Result<std::vector<Hold>>> keep(const std::vector<Claim>& claims, TimePoint deadline) override {
    return ask<std::vector<Hold>>([claims](FileTree& tree) { return tree.keep(claims); }, deadline);
  }
  loop::Task<Result<Epoch>> restore(const Claim& claim, TimePoint deadline) override {
    return ask<Epoch>([claim](FileTree& tree) { return tree.restore(claim); }, deadline);
  }
  loop::Task<Result<Entry>> get(const std::string& key, TimePoint deadline) override {
    return ask<Entry>([key](FileTree& tree) { return tree.get(key); }, deadline);
  }
  loop::Task<Result<std::vector<Entry>>> list(const std::string& prefix, TimePoint deadline) override {
    return ask<std::vector<Entry>>([prefix](FileTree& tree) { return tree.list(prefix); }, deadline);
  }
  loop::Task<Result<void>> remove(const std::string& key, TimePoint deadline) override {
    return ask<void>([key](FileTree& tree) { return tree.remove(key); }, deadline);
  }
  loop::Task<Result<std::size_t>> remove_subtree(const std::string& prefix, TimePoint deadline) override {
    return ask<std::size_t>([prefix](FileTree& tree) { return tree.remove_subtree(prefix); }, deadline);
  }
  loop::Task<Result<News>> news(const std::string& prefix, const Cursor& since, TimePoint until) override;
  void release(std::vector<std::string> keys, std::function<void()> done) override {
    do_later([keys = std::move(keys)](FileTree& tree) { return tree.release(keys); });
    waiting_.push_back(tell(std::move(done)));
  }
  void end() override {
    do_later([](FileTree& tree) { return tree.end(); });
  }

 private:
  template <class T>
  loop::Task<Result<T>> ask(Question<T> question, TimePoint deadline);
  template <class T>
  loop::Task<void> answer(Question<T> question, loop::Pending<T> pending);
  static loop::Task<void> work(std::shared_ptr<FileBackend> self);
  static loop::Task<void> tell(std::function<void()> done) {
    done();
    co_return;
  }
  void do_later(Question<void> question);
  void start_work();

  loop::Loop& loop_;
  loop::BlockingPool& pool_;
  const Options options_;
  const std::string folder_;
  FileTree tree_;  // used by one work of the pool at a time
  std::deque<loop::Task<void>> waiting_;
  bool works_ = false;
};

template <class T>
loop::Task<Result<T>> FileBackend::ask(Question<T> question, TimePoint deadline) {
  if (waiting_.size() >= waiting_max) {
    co_return fail(Errc::unavailable, folder_ + ": too many requests wait for this folder; try again later");
  }
  const loop::Pending<T> pending(loop_);
  waiting_.push_back(answer<T>(std::move(question), pending));
  start_work();
  co_return co_await pending.within(deadline, folder_ + ": no answer from this folder in time");
}

template <class T>
loop::Task<void> FileBackend::answer(Question<T> question, loop::Pending<T> pending) {
  if (pending.is_settled()) co_return;  // nobody waits any more
  auto done = [this, &question] { return question(tree_); };
  Result<T> result = co_await pool_.run(done);
  pending.settle(std::move(result));
}

void FileBackend::start_work() {
  if (!std::exchange(works_, true)) loop_.spawn(work(shared_from_this()));
}

/// Belongs to the loop, so that the end of the session waits for no file.
loop::Task<void> FileBackend::work(std::shared_ptr<FileBackend> self) {
  while (!self->waiting_.empty()) {
    loop::Task<void> next = std::move(self->waiting_.front());
    self->waiting_.pop_front();
    co_await std::move(next);
  }
  self->works_ = false;
}

/// The version counts readings of the folder. There is no notification of changes; callers compare versions.
loop::Task<Result<News>> FileBackend::news(const std::string& prefix, const Cursor& since, TimePoint until) {
  const std::uint64_t version = since.version;
  const int halvings = version <= first_looks ? first_looks - static_cast<int>(version) : 0;
  const Duration wait = options_.poll / (1 << halvings);
  if (version > 0) co_await loop::sleep(loop_, std::min(wait, std::max(until - loop_.now(), Duration::zero())));
  News news;
  news.next = since;
  if (version > 0 && loop_.now() >= until) co_return news;
  const TimePoint deadline = version > 0 ? until : std::max(until, loop_.now() + first_look_wait);
  CO_TRY_ASSIGN(entries, co_await list(prefix, deadline));
  news.is_all = true;
  news.put = std::move(entries);
  news.next.version = version + 1;
  co_return news;
}

void FileBackend::do_later(Question<void> question) {
  waiting_.push_back(answer<void>(std::move(question), loop::Pending<void>(loop_)));
  start_work();
}

}  // namespace

std::shared_ptr<Backend> make_file_backend(loop::Loop& loop, loop::BlockingPool& pool, const std::string& folder,
                                           const Options& options) {
  FileTreeOptions tree;
  tree.folder = folder;
  tree.session = new_session_name();
  tree.listed_max = options.listed_max;
  return std::make_shared<FileBackend>(loop, pool, std::move(tree), options);
}

}  // namespace cadre::names
