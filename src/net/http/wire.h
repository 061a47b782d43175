/// The bytes of one connection, TLS taken off: reads ahead up to a bound, sends at once what the system takes and the
/// rest when it can, and knows when its time is over. For the loop's thread; for the files of this folder only.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "net/http/input.h"
#include "net/http/peer.h"
#include "net/http/service.h"

namespace cadre::net::http {

class Wire : public std::enable_shared_from_this<Wire> {
 public:
  /// Who speaks over it. Calls come from the loop only, never from inside a call of the wire's.
  class User {
   public:
    virtual ~User() = default;
    virtual void opened() = 0;        ///< once, before any input
    virtual void has_input() = 0;     ///< there is more than before
    virtual void has_sent() = 0;      ///< all that waited is with the system
    virtual void is_late() = 0;       ///< the deadline has passed, which is taken back
    virtual void speaks_plain() = 0;  ///< instead of TLS; an answer goes out plain
    virtual void peer_ended() = 0;    ///< will send no more, but may still read
    virtual void drain() = 0;         ///< nothing new is to be begun
    /// The last call: there is no connection any more. May come from inside a call of the wire's, so it calls nobody.
    virtual void lost() = 0;
  };

  /// Takes its place among the wires of the service.
  static std::shared_ptr<Wire> add(const std::shared_ptr<Service>& service, Protocol::socket socket, Peer peer);
  /// Begins to read.
  void open(std::shared_ptr<User> user);
  /// Another goes on from here.
  void hand_over(std::shared_ptr<User> user);

  const std::string& peer() const { return peer_.address; }
  const Input& input() const { return input_; }
  void consume(std::size_t size) { input_.consume(size); }
  /// Reads as soon as there is something and there is room.
  void read();

  /// Sends the head and then the body. Held back while corked.
  void send(std::string_view head, std::string body);
  /// The same with a body that others send, too.
  void send_shared(std::string_view head, std::shared_ptr<const std::string> document);
  void cork() { corked_ = true; }
  void uncork();
  /// How much waits until the peer takes it, or until the wire is uncorked.
  std::size_t unsent() const { return out_.size() + (body_ ? body_->size() : 0) - sent_; }
  /// What that takes of memory, as it was counted last. A body that others send, too, does not count.
  std::size_t held() const { return held_; }
  /// Gives up what waits, and cuts the connection as soon as nobody is in a call of it.
  void drop_unsent();
  /// Whether what waits waits for the peer.
  bool is_blocked() const { return waits_to_write_; }

  /// The peer has made a whole request: it is none of those who only hold a connection, until that is answered.
  void note_request();
  void note_answered();
  bool is_silent() const { return is_silent_; }
  /// When it began to wait for its peer, as Service::waits counts.
  std::uint64_t waits_since() const { return waits_since_; }

  /// Its user is told when this has passed.
  void set_deadline(TimePoint deadline) { deadline_ = deadline; }

  /// Sends what waits, says that this was all, and ends when the peer has heard it. Its user hears no more of it.
  void finish();
  enum class How : std::uint8_t {
    close,  ///< what the system has still comes to the peer
    reset,  ///< the peer sees that something is missing
  };
  /// Whether all that was to be said is said, and the peer need only hear it.
  bool is_finished() const { return ending_ == Ending::listening; }
  /// Ends now; the user hears of it.
  void cut(How how = How::close);

  void drain();
  /// Looks whether its time is over.
  void sweep(TimePoint present);

  Wire(std::shared_ptr<Service> service, Protocol::socket socket, Peer peer);
  ~Wire();

 private:
  enum class Ending : std::uint8_t { no, flushing, listening };
  template <class Fn>
  void call(Fn fn);
  void have_read(const boost::system::error_code& problem, std::size_t size);
  void read_coded();
  void take_coded(std::string_view bytes);
  void got_end(const boost::system::error_code& problem);
  void pass_input();
  void put(std::string_view head, std::string_view body);
  void flush();
  void write_out();
  void count_held();
  void leave_silent();
  void wait_to_write();
  void have_flushed();
  void cut_soon();
  void end_sending();

  const std::shared_ptr<Service> service_;
  std::optional<Protocol::socket> socket_;  // empty once it is over: it may outlive the loop
  const Peer peer_;
  std::unique_ptr<TlsSession> tls_;
  std::shared_ptr<User> user_;
  std::list<std::shared_ptr<Wire>>::iterator place_;
  std::list<Wire*>::iterator place_in_network_;
  bool is_busy_ = false;
  std::uint64_t waits_since_ = 0;

  Input input_;
  bool reads_ = false;
  bool input_ended_ = false;
  bool has_heard_ = false;
  bool is_silent_ = true;
  bool is_open_ = false;  // TLS has shaken hands, if there is any

  std::string out_;                          // goes first,
  std::shared_ptr<const std::string> body_;  // then this, which others may send, too
  bool owns_body_ = false;
  std::size_t sent_ = 0;  // of both
  std::size_t held_ = 0;
  bool is_dropped_ = false;
  bool corked_ = false;
  bool waits_to_write_ = false;
  TimePoint write_deadline_ = TimePoint::max();

  TimePoint deadline_ = TimePoint::max();
  Ending ending_ = Ending::no;
};

}  // namespace cadre::net::http
