#include "agent/uid_range.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "loop/file.h"

namespace cadre::agent {
namespace {

constexpr std::int64_t least = 1'000;  // below are the system's own
constexpr std::int64_t most = 4'294'967'293;

Result<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return fail(Errc::invalid, "not a number");
  return number;
}

}  // namespace

Result<UidRange> parse_uid_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  const Result<std::int64_t> first = number_in(std::string_view(text).substr(0, dash));
  const Result<std::int64_t> last =
      dash == std::string::npos ? first : number_in(std::string_view(text).substr(dash + 1));
  if (!first || !last || *first < least || *last > most || *first > *last) {
    return fail(Errc::invalid, "--uids: '" + text + "' is not a range of user numbers from " + std::to_string(least) +
                                   " on; write for instance 200000-265535");
  }
  return UidRange{*first, *last};
}

Result<UidTable> UidTable::open(std::string path, UidRange range) {
  UidTable table(std::move(path), range);
  table.next_ = range.first;
  const Result<std::string> text = loop::read_file(table.path_);
  if (!text && text.error().code != Errc::not_found) return Failure(text.error());
  std::istringstream lines(text ? *text : "");
  std::int64_t uid = 0;
  for (std::string user; lines >> uid >> user;) {
    table.uids_[user] = uid;
    if (uid >= range.first && uid <= range.last) table.next_ = std::max(table.next_, uid + 1);
  }
  if (!lines.eof()) return fail(Errc::corrupt, table.path_ + " cannot be read; each line is `number user`");
  return table;
}

Result<std::int64_t> UidTable::uid_of(const std::string& user) {
  if (const auto known = uids_.find(user); known != uids_.end()) return known->second;
  if (user.empty() || user.find_first_of(" \n\t") != std::string::npos) {
    return fail(Errc::invalid, "'" + user + "' is no name of a user");
  }
  if (next_ > range_.last) {
    return fail(Errc::unavailable, "all user numbers of this agent are given away (" + std::to_string(range_.first) +
                                       "-" + std::to_string(range_.last) + "); start it with a larger --uids range");
  }
  std::string text;
  for (const auto& [name, uid] : uids_) text += std::to_string(uid) + " " + name + "\n";
  text += std::to_string(next_) + " " + user + "\n";
  TRY(loop::write_whole(path_, as_bytes(text)));
  TRY_ASSIGN(file, loop::File::open(path_, O_RDONLY));
  TRY(file.sync());
  TRY(loop::sync_folder(path_.substr(0, path_.rfind('/'))));
  uids_[user] = next_;
  return next_++;
}

}  // namespace cadre::agent
