/// One member of a group and its peers: who can be reached, what was said and answered, who is gone. Pure: it is told
/// the time and what came, and tells what is to be done. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "remote/card.h"
#include "remote/line.h"

namespace cadre::remote {

/// A connection that somebody else has opened, as whoever holds it numbers them.
using Connection = std::uint64_t;

// What is to be done.
/// A new connection is to be opened to a peer, in place of any other; it begins with this frame.
struct Open {
  std::string peer;
  std::uint64_t line = 0;
  std::string key;
  std::vector<std::string> at;
  Bytes hello;
};
struct Close {
  std::string peer;
};
/// Over the connection that was opened last.
struct Transmit {
  std::string peer;
  std::uint64_t line = 0;
  Bytes frame;
};
/// Back over a connection that the other side has opened.
struct Answer {
  Connection to = 0;
  Bytes frame;
};
using Effect = std::variant<Open, Close, Transmit, Answer>;

// What has happened.
struct PeerUp {
  std::string peer;
  std::uint64_t epoch = 0;
};
struct PeerDown {
  std::string peer;
  std::uint64_t epoch = 0;
  std::string why;
  std::vector<std::uint64_t> lost;  ///< the ids of what was sent and not acknowledged; nobody knows whether it arrived
};
/// A request has its answer: a reply, or why there is none.
struct Completed {
  std::uint64_t request = 0;
  Result<Note> outcome;
};
using News = std::variant<PeerUp, PeerDown, Completed>;

/// A note that came, and from whom.
struct Letter {
  std::string peer;
  std::string type;
  std::uint64_t epoch = 0;
  Note note;
};

class GroupCore {
 public:
  struct Options {
    std::string group;
    Card self;
    Line::Limits limits;
    Duration beat = std::chrono::seconds(1);                ///< something is said at least so often
    Duration silence_max = std::chrono::seconds(3);         ///< who says nothing for longer is gone
    Duration reopen_first = std::chrono::milliseconds(20);  ///< before a lost connection is opened again; doubles
    Duration reopen_longest = std::chrono::seconds(1);
    Duration tell_after = std::chrono::milliseconds(10);  ///< what has arrived is acknowledged at the latest
    bool rejoin = false;                                  ///< messages to a lost peer wait until it is back
  };
  struct Counters {
    std::uint64_t strangers = 0;  ///< frames from unauthenticated peers
    std::uint64_t malformed = 0;
    std::uint64_t dropped = 0;        ///< notes, to make room for newer ones
    std::uint64_t late = 0;           ///< answers that nobody waited for any more, and notes of who is gone
    std::uint64_t spelled_bytes = 0;  ///< of frames, into which all is copied that they say
  };
  struct Wish {
    std::string tag;
    std::uint64_t session = 0;
    bool is_reliable = false;
    Slice body;
  };

  explicit GroupCore(Options options);

  // What the names say.
  void met(const Card& card, TimePoint now);
  void parted(const std::string& peer, std::uint64_t epoch, TimePoint now);

  // What the network says.
  void heard(Connection from, const Slice& frame, TimePoint now);
  /// Over a connection that was opened here.
  void answered(const std::string& peer, std::uint64_t line, const Slice& frame, TimePoint now);
  void lost(const std::string& peer, std::uint64_t line, TimePoint now);

  // What is wanted here.
  /// Not found: there is no such peer. Unavailable: it is gone, or there is no room. Gives the id of the message.
  [[nodiscard]] Result<std::uint64_t> send(const std::string& peer, Wish wish, TimePoint now);
  [[nodiscard]] Result<std::uint64_t> request(const std::string& peer, Wish wish, TimePoint deadline, TimePoint now);
  struct Response {
    Note::Kind kind = Note::Kind::reply;
    Slice body;
    std::string tag{};  ///< empty: that of the request
  };
  [[nodiscard]] Result<void> reply(const Letter& to, Response response, TimePoint now);
  /// Its answer is not waited for any more.
  void forget(std::uint64_t request);
  bool has_room(const std::string& peer, std::size_t cost) const;
  /// Makes room by giving up the oldest that was not sent. False: there is none.
  bool drop_oldest(const std::string& peer);

  /// The next that came; nothing: there is none.
  std::optional<Letter> take();
  bool has_letters() const { return !inbox_.empty(); }

  void tick(TimePoint now);
  /// When tick() has something to do.
  TimePoint next_tick() const { return next_tick_; }
  bool wants_flush() const { return !dirty_.empty(); }
  /// Spells what can be sent now.
  void flush(TimePoint now);

  std::vector<Effect> effects() { return std::exchange(effects_, {}); }
  std::vector<News> news() { return std::exchange(news_, {}); }

  const Card& self() const { return options_.self; }
  bool is_up(const std::string& peer) const;
  /// Those that can be reached, by type if one is named.
  std::vector<std::string> live(const std::string& type = "") const;
  std::size_t count_live(const std::string& type) const;
  const Card* find(const std::string& peer) const;
  /// Not acknowledged yet, over all.
  std::size_t undelivered() const;
  std::vector<std::uint64_t> undelivered_ids() const;
  const Counters& counters() const { return counters_; }

 private:
  enum class Stage : std::uint8_t {
    unknown,
    opening,
    up,
    broken,  ///< it will be tried again
    gone,
  };
  struct Peer {
    explicit Peer(const Line::Limits& limits) : line(limits) {}
    Card card;
    Line line;
    Stage stage = Stage::unknown;
    std::uint64_t opened = 0;  ///< connections so far
    TimePoint opened_at;
    TimePoint is_heard_at;  ///< it said last that it hears what we say
    std::optional<Connection> from;
    std::uint64_t from_line = 0;  ///< the latest connection that it has opened
    TimePoint heard;
    TimePoint spoke;
    bool has_been_up = false;  ///< this process of that name
    bool is_silent = false;    ///< it was lost because it said nothing: it may only have stood still
    bool is_listed = true;     ///< by the names
    TimePoint reopen;
    Duration wait{};
    TimePoint tell_by = TimePoint::max();  ///< what is here of its notes
    bool is_dirty = false;
  };
  struct Pending {
    std::string peer;
    TimePoint deadline;
    bool is_reliable = false;
  };

  Peer& peer_of(const Card& card, TimePoint now);
  void open(Peer& peer, TimePoint now);
  void down(Peer& peer, const std::string& why, TimePoint now);
  void leave(Peer& peer, const std::string& why, TimePoint now);
  void tell_lost(const Peer& peer, const std::string& why, const std::vector<Note>& lost);
  enum class Which : std::uint8_t { unreliable, all };
  void stop_listening(Peer& peer);
  void fail_requests(const Peer& peer, const std::string& why, Which which);
  void greet(Connection from, const Hello& hello, TimePoint now);
  void complete(const std::string& peer, std::uint64_t request, Result<Note> outcome);
  Result<std::uint64_t> put(const std::string& name, Note note, TimePoint now);
  void mark(Peer& peer);
  void wake_at(TimePoint time) { next_tick_ = std::min(next_tick_, time); }
  void look_after(Peer& peer, TimePoint now);
  void notice_absence(TimePoint now);
  void forget_the_gone();
  void transmit(Peer& peer, TimePoint now);

  const Options options_;
  std::map<std::string, Peer, std::less<>> peers_;
  std::unordered_map<Connection, std::string> from_;
  std::unordered_map<std::uint64_t, Pending> pending_;
  std::set<std::pair<TimePoint, std::uint64_t>> deadlines_;
  std::deque<Letter> inbox_;
  std::vector<Peer*> dirty_;
  std::uint64_t last_id_ = 0;
  TimePoint next_tick_ = TimePoint::max();
  TimePoint seen_ = TimePoint::max();  // when the loop was here last
  std::vector<Effect> effects_;
  std::vector<News> news_;
  Counters counters_;
};

}  // namespace cadre::remote
