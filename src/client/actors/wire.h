/// Frames between a caller and an actor's process over a pipe; what is large goes through shared memory where both are
/// on one host. Made, and closed, on the loop; send() may be called on any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/pipe/pipe.h"
#include "remote/call_frame.h"
#include "tensor/shared_pool.h"

namespace cadre::client {

/// A frame as it came: its parts lie where they can stay.
struct Heard {
  remote::Verb verb = remote::Verb::call;
  std::uint64_t id = 0;
  std::string name;
  remote::Segment body;
  std::vector<remote::Segment> parts;
};

class Wire final : public std::enable_shared_from_this<Wire>, private net::Pipe::User {
 public:
  /// Calls come from the loop only; none after lost() or close(); each may close it.
  class User {
   public:
    virtual ~User() = default;
    virtual void opened() = 0;
    virtual void heard(Heard heard) = 0;
    /// All that waited to be sent is gone.
    virtual void drained() = 0;
    virtual void lost(Error error) = 0;
  };

  static std::shared_ptr<Wire> call(net::PipeDependencies deps, net::Caller caller, const net::PipeAddress& address,
                                    User& user);
  static std::shared_ptr<Wire> answer(net::PipeDependencies deps, std::shared_ptr<const net::Called> called,
                                      loop::Descriptor socket, net::Cover cover, User& user);
  void close();

  /// Parts that are ready to be sent: what is large was copied into shared memory.
  struct Shared {
    std::vector<remote::PartToSend> parts;
    std::vector<int> files;
  };
  /// To be sent once, over this wire; takes its time.
  [[nodiscard]] Shared share(std::span<const BytesView> parts);
  using Urgency = net::Pipe::Urgency;
  /// Only what could be said: remote::obstacle_to.
  void send(remote::Verb verb, std::uint64_t id, std::string_view name, BytesView body, const Shared& shared,
            Urgency urgency = Urgency::now);
  void send(remote::Verb verb, std::uint64_t id, std::string_view name, BytesView body,
            std::span<const BytesView> parts, Urgency urgency = Urgency::now) {
    send(verb, id, name, body, share(parts), urgency);
  }
  /// What was to go soon goes now.
  void flush();
  std::size_t unsent() const { return pipe_->unsent(); }

 private:
  explicit Wire(User& user);
  void opened() override;
  std::span<std::byte> room() override { return reader_.room(); }
  void took(std::size_t bytes, std::vector<loop::Descriptor> files) override;
  void drained() override;
  void lost(Error error) override;
  Result<void> take(remote::CallFrame frame);
  Result<remote::Segment> slice_of(const remote::Part& part);
  void take_news(const std::vector<remote::PieceNews>& news);
  void tell(remote::PieceNews news);

  User* user_;       ///< null once it is over
  const pid_t pid_;  ///< a child process inherits it, and must say nothing
  std::unique_ptr<net::Pipe> pipe_;
  remote::CallReader reader_;
  std::vector<loop::Descriptor> files_;  ///< that came and were not looked at yet
  tensor::SharedPool pool_;
  tensor::SharedViews views_;
};

}  // namespace cadre::client
