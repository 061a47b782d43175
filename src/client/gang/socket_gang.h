/// A gang whose processes are connected by lines (client/gang/lines.h). As gang.h says.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "client/engine.h"
#include "client/gang/card.h"
#include "client/gang/collective.h"
#include "client/gang/lines.h"

namespace cadre::client {

class SocketGang final : public Gang {
 public:
  /// Listens; `self` then says where, so that the others can be told.
  [[nodiscard]] static Result<std::unique_ptr<SocketGang>> listen(GangCard self);
  ~SocketGang() override;

  const GangCard& card() const { return self_; }
  Engine& engine() { return engine_; }
  GangLines& lines() { return *lines_; }
  /// The cards of all, in the order of their ranks. Connections are opened in the background.
  void begin(std::vector<GangCard> roster);

  const GangPlace& place() const override { return place_; }
  Result<std::vector<Bytes>> gather(BytesView bytes) override;
  Result<std::vector<Bytes>> allgather(BytesView bytes) override;
  Result<Bytes> broadcast(BytesView bytes) override;
  Result<void> allreduce(std::span<std::byte> numbers, NumberKind kind, Reduction how) override;
  void leave() override;

 private:
  explicit SocketGang(GangCard self);
  Result<std::vector<Bytes>> run(const Collective::Call& call);
  /// On the loop: sends what is to be sent, and sees whether the call has ended.
  void pump();

  GangCard self_;
  const GangPlace place_;
  SilentLog log_;
  Engine engine_;
  std::unique_ptr<GangLines> lines_;        ///< the loop's
  std::unique_ptr<Collective> collective_;  ///< the loop's
  bool is_pumping_ = false;
  std::mutex calls_;                  ///< one at a time
  std::atomic<bool> is_done_ = true;  ///< from then on the loop leaves the outcome alone
  Result<std::vector<Bytes>> outcome_;
};

}  // namespace cadre::client
