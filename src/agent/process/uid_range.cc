#include "agent/process/uid_range.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

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

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream text(line);
  for (std::string field; std::getline(text, field, ':');) fields.push_back(std::move(field));
  return fields;
}

/// A file of the host that gives numbers away: `NAME:FIRST:COUNT` or `NAME:PASSWORD:NUMBER` in each line.
struct NumberFile {
  const char* name;
  bool has_ranges;
};
constexpr std::array number_files{NumberFile{"passwd", false}, NumberFile{"group", false}, NumberFile{"subuid", true},
                                  NumberFile{"subgid", true}};

std::optional<UidRange> range_in(const std::vector<std::string>& fields, bool has_ranges) {
  if (fields.size() < 3) return std::nullopt;
  const Result<std::int64_t> first = number_in(fields[has_ranges ? 1 : 2]);
  const Result<std::int64_t> count = has_ranges ? number_in(fields[2]) : Result<std::int64_t>(1);
  if (!first || !count || *first > most || *count < 1 || *count > most) return std::nullopt;
  return UidRange{*first, *first + *count - 1};
}

}  // namespace

std::string to_text(const UidRange& range) {
  return range.first == range.last ? std::to_string(range.first)
                                   : std::to_string(range.first) + "-" + std::to_string(range.last);
}

Result<UidRange> parse_uid_range(const std::string& text) {
  const std::size_t dash = text.find('-');
  const Result<std::int64_t> first = number_in(std::string_view(text).substr(0, dash));
  const Result<std::int64_t> last =
      dash == std::string::npos ? first : number_in(std::string_view(text).substr(dash + 1));
  if (!first || !last || *first < least || *last > most || *first > *last) {
    return fail(Errc::invalid, "'" + text + "' is not a range of UIDs of at least " + std::to_string(least) +
                                   " on; write for instance " + to_text(UidRange()));
  }
  return UidRange{*first, *last};
}

Result<void> check_uid_range(const UidRange& range, const std::string& etc) {
  for (const NumberFile& file : number_files) {
    const std::string path = etc + "/" + file.name;
    std::ifstream lines(path);  // of any size
    if (!lines && errno != ENOENT) return loop::system_failure(path);
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> fields = fields_of(line);
      const std::optional<UidRange> given = range_in(fields, file.has_ranges);
      if (!given || given->last < range.first || given->first > range.last) continue;
      return fail(Errc::denied, "the UIDs " + to_text(range) + " of tasks overlap " + to_text(*given) + ", which " +
                                    path + " gives to '" + fields[0] + "'; choose others with --uids, for instance " +
                                    to_text(UidRange()));
    }
  }
  return {};
}

Result<UidTable> UidTable::open(std::string path, UidRange range, UidClaims claims) {
  UidTable table(std::move(path), range, std::move(claims));
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
  if (const auto known = uids_.find(user); known != uids_.end()) {
    if (claimed_.contains(known->second)) return known->second;
    TRY_ASSIGN(kept, claims_.claim(known->second, known->second));
    if (kept) return *claimed_.insert(*kept).first;
  }
  if (user.empty() || user.find_first_of(" \n\t") != std::string::npos) {
    return fail(Errc::invalid, "'" + user + "' is not a user name");
  }
  TRY_ASSIGN(fresh, claims_.claim(next_, range_.last));
  if (!fresh) {
    return fail(Errc::unavailable, "all UIDs of this agent are assigned, here or by other agents of this host (" +
                                       to_text(range_) + "); start it with a larger --uids range");
  }
  std::string text;
  for (const auto& [name, uid] : uids_) {
    if (name != user) text += std::to_string(uid) + " " + name + "\n";
  }
  text += std::to_string(*fresh) + " " + user + "\n";
  TRY(loop::write_whole(path_, as_bytes(text)));
  uids_[user] = *fresh;
  next_ = *fresh + 1;
  return *claimed_.insert(*fresh).first;
}

}  // namespace cadre::agent
