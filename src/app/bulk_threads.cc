#include "app/bulk_threads.h"

#include <utility>

namespace cadre::app {

Result<void> BulkThreads::start(const std::vector<PartDeclaration>& parts, const Options& options,
                                master::Master& master, Log& log) {
  for (std::size_t at = 0; at < parts.size(); ++at) {
    if (!parts[at].make_bulk) continue;
    const auto tell_part = [&master, at](std::any news, ByteSize size) { master.tell_part(at, std::move(news), size); };
    const master::IngestCounters counters(metrics_, std::string(parts[at].setup.type.name));
    TRY_ASSIGN(thread,
               master::BulkThread::start(
                   {options.database, options.boot, parts[at].make_bulk, tell_part, options.reply, counters, {}},
                   master, log));
    threads_[at] = std::move(thread);
  }
  return {};
}

void BulkThreads::stop() {
  for (auto& [part, one] : threads_) one->stop();
}

api::Service* BulkThreads::service(std::size_t part) {
  const auto found = threads_.find(part);
  return found == threads_.end() ? nullptr : &found->second->ingest();
}

void BulkThreads::learn(std::size_t part, std::vector<std::any> facts) {
  const auto found = threads_.find(part);
  if (found != threads_.end()) found->second->ingest().learn(std::move(facts));
}

void BulkThreads::end(const std::vector<cluster::LeaseId>& leases) {
  for (auto& [part, one] : threads_) one->ingest().end(leases);
}

void BulkThreads::fence(const std::vector<cluster::LeaseId>& newest, const std::function<void()>& done) {
  if (threads_.empty()) return done();
  const auto left = std::make_shared<std::size_t>(threads_.size());  // shared by the acknowledgements; on the loop only
  for (auto& [part, one] : threads_) {
    one->ingest().fence(newest, [this, left, done] {
      loop_.post([left, done] {
        if (--*left == 0) done();
      });
    });
  }
}

std::vector<Metric> BulkThreads::metrics() const {
  return threads_.empty() ? std::vector<Metric>() : metrics_.all.read();
}

}  // namespace cadre::app
