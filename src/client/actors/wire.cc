#include "client/actors/wire.h"

#include <cstring>
#include <utility>

#include "client/host_identity.h"

namespace cadre::client {
namespace {

/// What is smaller goes through the socket: it costs less than to share it.
constexpr std::size_t shared_from = 32 << 10;
constexpr std::size_t files_max = 1024;  ///< that wait for their frames to be whole
constexpr std::size_t shared_max = std::size_t{4} << 30;
constexpr std::size_t kept_max = 128 << 20;

}  // namespace

Wire::Wire(User& user) : user_(&user), pid_(own_pid()), reader_(remote::call_bytes_max), pool_(shared_max, kept_max) {}

std::shared_ptr<Wire> Wire::call(net::PipeDependencies deps, net::Caller caller, const net::PipeAddress& address,
                                 User& user) {
  std::shared_ptr<Wire> wire(new Wire(user));
  wire->pipe_ =
      std::make_unique<net::Pipe>(std::move(deps), std::move(caller), address, static_cast<net::Pipe::User&>(*wire));
  return wire;
}

std::shared_ptr<Wire> Wire::answer(net::PipeDependencies deps, std::shared_ptr<const net::Called> called,
                                   loop::Descriptor socket, net::Cover cover, User& user) {
  std::shared_ptr<Wire> wire(new Wire(user));
  wire->pipe_ = std::make_unique<net::Pipe>(std::move(deps), std::move(called), std::move(socket), cover,
                                            static_cast<net::Pipe::User&>(*wire));
  return wire;
}

void Wire::close() {
  user_ = nullptr;
  pipe_->close();
}

void Wire::opened() { user_->opened(); }

void Wire::drained() {
  if (user_ != nullptr) user_->drained();
}

void Wire::lost(Error error) {
  if (User* const told = std::exchange(user_, nullptr)) told->lost(std::move(error));
}

Wire::Shared Wire::share(std::span<const BytesView> parts) {
  Shared shared;
  for (const BytesView& part : parts) {
    remote::PartToSend& one = shared.parts.emplace_back();
    one.bytes = part;
    if (!pipe_->hands_over_files() || part.size() < shared_from) continue;
    const bool has_room_for_file = shared.files.size() < net::Pipe::files_max;
    std::optional<tensor::SharedPool::Taken> taken = has_room_for_file ? pool_.take(part.size()) : std::nullopt;
    if (!taken) continue;
    std::memcpy(taken->piece->data(), part.data(), part.size());
    one.piece = taken->number;
    if (taken->is_new) shared.files.push_back(taken->file);
  }
  return shared;
}

void Wire::send(remote::Verb verb, std::uint64_t id, std::string_view name, BytesView body, const Shared& shared,
                Urgency urgency) {
  if (own_pid() != pid_) return;
  const remote::EncodedCall encoded(verb, id, name, body, shared.parts);
  pipe_->send(encoded.pieces(), shared.files, urgency);
}

void Wire::flush() {
  if (own_pid() == pid_) pipe_->flush();
}

void Wire::took(std::size_t bytes, std::vector<loop::Descriptor> files) {
  for (loop::Descriptor& file : files) files_.push_back(std::move(file));
  std::vector<remote::CallFrame> frames;
  const std::shared_ptr<Wire> self = shared_from_this();
  Result<void> taken;
  if (files_.size() > files_max) taken = fail(Errc::corrupt, "received file descriptors that no frame refers to");
  if (!reader_.took(bytes, frames)) taken = fail(Errc::corrupt, "received bytes that are not a frame");
  for (remote::CallFrame& frame : frames) {
    if (!taken || user_ == nullptr) break;
    taken = take(std::move(frame));
  }
  if (taken || user_ == nullptr) return;
  pipe_->close();
  lost(taken.error());
}

Result<void> Wire::take(remote::CallFrame frame) {
  if (frame.verb == remote::Verb::pieces) {
    const auto news = remote::read_pieces(frame.body.view());
    if (!news) return fail(Errc::corrupt, "received a malformed message about shared memory");
    take_news(*news);
    return {};
  }
  Heard heard{frame.verb, frame.id, std::move(frame.name), std::move(frame.body), {}};
  for (const remote::Part& part : frame.parts) {
    TRY_ASSIGN(slice, slice_of(part));
    heard.parts.push_back(std::move(slice));
  }
  user_->heard(std::move(heard));
  return {};
}

Result<remote::Segment> Wire::slice_of(const remote::Part& part) {
  if (part.piece == 0) return part.slice;
  std::shared_ptr<tensor::SharedPiece> piece = views_.find(part.piece);
  if (!piece) {  // the first time a piece is used, its file comes along
    if (files_.empty()) return fail(Errc::corrupt, "a piece of shared memory is missing");
    TRY(views_.add(part.piece, files_.front()));
    files_.erase(files_.begin());
    piece = views_.find(part.piece);
  }
  if (part.size > piece->size()) return fail(Errc::corrupt, "a piece of shared memory is too small");
  std::byte* const data = piece->data();
  // Whoever lets go of it last gives it back to who filled it.
  std::shared_ptr<const void> owner(data, [piece, number = part.piece, wire = weak_from_this()](const void*) {
    if (const std::shared_ptr<Wire> there = wire.lock()) there->tell({number, false});
  });
  return remote::Segment{data, part.size, std::move(owner)};
}

void Wire::take_news(const std::vector<remote::PieceNews>& news) {
  for (const remote::PieceNews& one : news) {
    if (one.is_gone) {
      views_.remove(one.piece);
    } else if (pool_.give_back(one.piece)) {
      tell({one.piece, true});
    }
  }
}

void Wire::tell(remote::PieceNews news) {
  const Bytes body = remote::write_pieces(std::span(&news, 1));
  send(remote::Verb::pieces, 0, "", body, Shared());
}

}  // namespace cadre::client
