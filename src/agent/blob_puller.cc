#include "agent/blob_puller.h"

#include <fcntl.h>

#include <coroutine>
#include <utility>
#include <variant>

#include "base/rounded.h"
#include "loop/file.h"
#include "objects/hash.h"

namespace cadre::agent {

namespace bulk = cluster::bulk;

namespace {

constexpr Duration ask_again_after = std::chrono::seconds(1);

/// A file on its way to disk, and the hash of what is in it.
struct Arriving {
  loop::File file;
  objects::Sha256 hash;

  Result<void> take(BytesView bytes) {
    hash.update(bytes);
    return file.write(bytes);
  }
};

}  // namespace

/// Waits for the answer to one question, or not any longer.
class [[nodiscard]] BlobPuller::PendingRequest {
 public:
  PendingRequest(BlobPuller& puller, std::uint64_t number) : puller_(puller), number_(number) {
    puller_.asked_.emplace(number, this);
  }
  PendingRequest(const PendingRequest&) = delete;
  PendingRequest& operator=(const PendingRequest&) = delete;
  ~PendingRequest() { puller_.asked_.erase(number_); }

  void hear(BulkLink::BlobAnswer answer) {
    answer_ = std::move(answer);
    if (waiting_) timer_ = puller_.loop_.after(Duration(0), [this] { waiting_.resume(); });
  }

  bool await_ready() const { return answer_.has_value(); }
  void await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    timer_ = puller_.loop_.after(puller_.options_.answer_max, [this] { waiting_.resume(); });
  }
  std::optional<BulkLink::BlobAnswer> await_resume() {
    waiting_ = nullptr;
    return std::move(answer_);
  }

 private:
  BlobPuller& puller_;
  const std::uint64_t number_;
  std::optional<BulkLink::BlobAnswer> answer_;
  std::coroutine_handle<> waiting_;
  loop::Timer timer_;
};

BlobPuller::BlobPuller(const Dependencies& deps, const BlobPullerOptions& options)
    : loop_(deps.loop), pool_(deps.pool), link_(deps.link), options_(options) {
  link_.on_answer([this](const BulkLink::BlobAnswer& answer) { hear(answer); });
}

BlobPuller::~BlobPuller() { link_.on_answer(nullptr); }

void BlobPuller::hear(const BulkLink::BlobAnswer& answer) {
  const auto asked = asked_.find(std::visit([](const auto& one) { return one.number; }, answer));
  if (asked != asked_.end()) asked->second->hear(answer);
}

loop::Task<Result<BlobPuller::BlobPart>> BlobPuller::get(std::string hash, std::int64_t offset) {
  const TimePoint end = loop_.now() + options_.stall_max;
  std::string why = "no answer";
  while (loop_.now() < end) {
    const std::uint64_t number = link_.next_number();
    PendingRequest asked(*this, number);
    const Result<void> sent = link_.send(bulk::GetBlob{number, hash, offset});
    if (!sent) {
      why = sent.error().message;
      co_await loop::sleep(loop_, ask_again_after);
      continue;
    }
    std::optional<BulkLink::BlobAnswer> answer = co_await asked;
    if (!answer) continue;
    if (auto* part = std::get_if<BlobPart>(&*answer)) co_return std::move(*part);
    const auto* refused = std::get_if<bulk::Refused>(&*answer);
    if (refused == nullptr) continue;
    if (refused->code != Errc::unavailable) co_return fail(refused->code, refused->why);
    why = refused->why;
    co_await loop::sleep(loop_, ask_again_after);
  }
  co_return fail(Errc::timed_out,
                 "the master did not send the code within " + rounded(options_.stall_max) + ": " + why);
}

loop::Task<Result<void>> BlobPuller::pull(std::string hash, std::string file) {
  CO_TRY_ASSIGN(opened, loop::File::open(file, O_WRONLY | O_CREAT | O_TRUNC));
  Arriving arriving{std::move(opened), {}};
  for (std::int64_t have = 0, size = -1; have != size;) {
    CO_TRY_ASSIGN(part, co_await get(hash, have));
    const auto bytes = static_cast<std::int64_t>(part.bytes.size());
    const bool fits = part.offset == have && (size < 0 || part.size == size) && have + bytes <= part.size;
    if (!fits || (bytes == 0 && have < part.size)) {
      co_return fail(Errc::corrupt, "the master sent another part of " + hash + " than was requested");
    }
    if (part.size > options_.bytes_max.value) {
      co_return fail(Errc::invalid, "packed code of " + to_string(ByteSize{part.size}) + "; this agent takes " +
                                        to_string(options_.bytes_max));
    }
    CO_TRY(co_await pool_.run([&arriving, &part] { return arriving.take(part.bytes); }));
    size = part.size;
    have += bytes;
  }
  if (arriving.hash.finish() != hash) {
    co_return fail(Errc::corrupt,
                   "the content that the master sent as " + hash + " has another hash; submit the code again");
  }
  co_return Result<void>();
}

}  // namespace cadre::agent
