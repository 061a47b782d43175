#include "agent/bulk_link.h"

#include <algorithm>

#include "base/overloaded.h"
#include "describe/describe.h"

namespace cadre::agent {

namespace bulk = cluster::bulk;

namespace {

constexpr describe::Bounds message_bounds{.size_bytes = bulk::message_bytes_max, .depth = 4, .nodes = 64, .copies = 0};

// What waits in the link while the master is away is in memory, and will be sent again anyway.
constexpr std::int32_t queue_max = 64;

}  // namespace

Result<void> BulkLink::connect(net::LinkOptions options) {
  options.limits.message_max = ByteSize{bulk::message_bytes_max};
  options.limits.queue_max = std::min(options.limits.queue_max, queue_max);
  link_.reset();
  TRY_ASSIGN(link, network_.connect(std::move(options), [this](BytesView bytes) { take(bytes); }));
  link_ = std::move(link);
  return {};
}

Result<void> BulkLink::send(const bulk::ToMaster& message) {
  if (!link_) return fail(Errc::unavailable, "there is no connection for output and code yet");
  return link_->send(describe::write_msgpack(message));
}

void BulkLink::take(BytesView bytes) {
  auto message = describe::read_msgpack<bulk::FromMaster>(bytes, message_bounds);
  if (!message) {
    if (malformed_++ == 0) log_.warning("cannot read a message of the master's service for output and code");
    return;
  }
  std::visit(overloaded{
                 [&](bulk::OutputStored& answer) {
                   if (stored_) stored_(answer);
                 },
                 [](bulk::Output&) {},  // no agent asks for it
                 [&](bulk::Refused& answer) {
                   if (answer.lease.task.job.value == 0) {
                     if (answered_) answered_(std::move(answer));
                   } else if (output_refused_) {
                     output_refused_(answer);
                   }
                 },
                 [&](auto& answer) {
                   if (answered_) answered_(std::move(answer));
                 },
             },
             *message);
}

}  // namespace cadre::agent
