/// Takes the body of a request out of its chunks; knows no socket. A value; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cadre::net::http {

class ChunkReader {
 public:
  enum class State : std::uint8_t { more, whole, malformed, too_large };

  explicit ChunkReader(std::size_t body_max = 0) : body_left_(body_max) {}

  /// Appends to the body what the bytes hold of it, and gives how many it has taken; all of them, unless the body ends
  /// before. Extensions and trailers are skipped.
  std::size_t take(std::string_view bytes, std::string& body);
  State state() const { return state_; }

 private:
  /// Which byte comes next. `line` is one of the trailer's; `last_lf` ends all.
  enum class Place : std::uint8_t {
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    line_start,
    line,
    line_lf,
    last_lf
  };
  void take_byte(char c);
  void take_of_size(char c);
  void skip(char c, Place after_cr);
  void expect(char c, char expected, Place next);
  void begin_chunk();

  State state_ = State::more;
  Place place_ = Place::size;
  int digits_ = 0;
  std::uint64_t chunk_left_ = 0;
  std::uint64_t body_left_;
  std::size_t skipped_ = 0;
};

}  // namespace cadre::net::http
