#include "app/bulk_threads.h"

#include <utility>

namespace cadre::app {

Result<void> BulkThreads::start(const std::vector<PartDeclaration>& parts, const Options& options,
                                master::Master& master, Log& log) {
  for (std::size_t at = 0; at < parts.size(); ++at) {
    if (!parts[at].make_bulk) continue;
    const auto tell_part = [&master, at](std::any news, ByteSize size) { master.tell_part(at, std::move(news), size); };
    TRY_ASSIGN(thread,
               master::BulkThread::start(
                   {options.database, options.boot, parts[at].make_bulk, tell_part, options.reply, {}}, master, log));
    threads_[at] = {std::string(parts[at].setup.type.name), std::move(thread)};
  }
  return {};
}

void BulkThreads::stop() {
  for (auto& [part, one] : threads_) one.thread->stop();
}

api::Service* BulkThreads::service(std::size_t part) {
  const auto found = threads_.find(part);
  return found == threads_.end() ? nullptr : &found->second.thread->ingest();
}

void BulkThreads::learn(std::size_t part, std::vector<std::any> facts) {
  const auto found = threads_.find(part);
  if (found != threads_.end()) found->second.thread->ingest().learn(std::move(facts));
}

void BulkThreads::end(const std::vector<cluster::LeaseId>& leases) {
  for (auto& [part, one] : threads_) one.thread->ingest().end(leases);
}

void BulkThreads::fence(const std::vector<cluster::LeaseId>& newest, const std::function<void()>& done) {
  if (threads_.empty()) return done();
  const auto left = std::make_shared<std::size_t>(threads_.size());  // shared by the acknowledgements; on the loop only
  for (auto& [part, one] : threads_) {
    one.thread->ingest().fence(newest, [this, left, done] {
      loop_.post([left, done] {
        if (--*left == 0) done();
      });
    });
  }
}

std::vector<Metric> BulkThreads::metrics() const {
  if (threads_.empty()) return {};
  using Kind = Metric::Kind;
  Metric served{"bulk_requests_total", "Requests that the bulk side of a part has served.", Kind::counter, {}};
  Metric refused{"bulk_requests_refused_total", "Refused requests to the bulk side of a part.", Kind::counter, {}};
  Metric identified{"bulk_callers_identified_total",
                    "Callers of the bulk side of a part whose rights were not cached.",
                    Kind::counter,
                    {}};
  for (const auto& [part, one] : threads_) {
    const master::Ingest::Counters counters = one.thread->ingest().counters();
    const Metric::Labels labels{{"part", one.name}};
    served.samples.push_back({labels, static_cast<double>(counters.served)});
    refused.samples.push_back({labels, static_cast<double>(counters.refused)});
    identified.samples.push_back({labels, static_cast<double>(counters.identified)});
  }
  return {served, refused, identified};
}

}  // namespace cadre::app
