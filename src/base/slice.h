/// A piece of bytes that several may hold: a frame holds many messages, and one body goes to many peers. Values; safe
/// on any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/bytes.h"

namespace cadre {

struct Slice {
  Slice() = default;
  Slice(Bytes bytes) {  // all of them
    auto whole = std::make_shared<const Bytes>(std::move(bytes));
    view = *whole;
    owner = std::move(whole);
  }
  Slice(std::shared_ptr<const void> o, BytesView v) : owner(std::move(o)), view(v) {}
  std::size_t size() const { return view.size(); }
  operator BytesView() const { return view; }

  std::shared_ptr<const void> owner;  ///< of the bytes, and perhaps of more
  BytesView view;
};

}  // namespace cadre
