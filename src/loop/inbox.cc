#include "loop/inbox.h"

namespace cadre::loop {

InboxLevel::InboxLevel(InboxOptions options) : options_(std::move(options)) { CHECK(options_.items_max > 0); }

Result<void> InboxLevel::add(ByteSize size) {
  const auto refuse = [this](Errc code, const std::string& why) {
    ++counters_.refused;
    return fail(code, "inbox " + options_.name + why);
  };
  CHECK(size.value >= 0);
  if (closed_) return refuse(Errc::unavailable, " is closed");
  if (size > options_.bytes_max) {
    return refuse(Errc::invalid,
                  " takes no item of size " + to_string(size) + ": bytes_max is " + to_string(options_.bytes_max));
  }
  if (items_ == options_.items_max) {
    return refuse(Errc::unavailable, " is full: items_max is " + std::to_string(options_.items_max));
  }
  if (size > options_.bytes_max - bytes_) {
    return refuse(Errc::unavailable, " is full: bytes_max is " + to_string(options_.bytes_max));
  }
  ++items_;
  bytes_ += size;
  ++counters_.pushed;
  counters_.items_most = std::max(counters_.items_most, items_);
  counters_.bytes_most = std::max(counters_.bytes_most, bytes_);
  return {};
}

}  // namespace cadre::loop
