#include "net/redis/resp.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cadre::net::redis {

namespace {

constexpr std::string_view line_end = "\r\n";

bool read_number(std::string_view text, std::int64_t& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string write_command(const std::vector<std::string>& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n";
    text += word;
    text += line_end;
  }
  return text;
}

Failure RespReader::refuse(const std::string& why) {
  failed_ = true;
  buffer_ = {};
  open_.clear();
  return fail(Errc::corrupt, "the peer does not speak the Redis protocol: " + why);
}

Result<void> RespReader::take(std::string_view bytes, std::vector<Reply>& replies) {
  if (failed_) return refuse("it was not before");
  buffer_ += bytes;
  while (true) {
    TRY_ASSIGN(has_more, step(replies));
    if (!has_more) break;
  }
  buffer_.erase(0, at_);
  searched_ = std::max(searched_, at_) - at_;
  at_ = 0;
  return {};
}

Result<bool> RespReader::step(std::vector<Reply>& replies) {
  if (in_string_) {
    if (buffer_.size() - at_ < string_size_ + line_end.size()) return false;
    if (std::string_view(buffer_).substr(at_ + string_size_, line_end.size()) != line_end) {
      return refuse("a string is longer than it says");
    }
    std::string text = buffer_.substr(at_, string_size_);
    at_ += string_size_ + line_end.size();
    in_string_ = false;
    TRY(add({std::move(text)}, replies));
    return true;
  }
  std::string_view line;
  TRY_ASSIGN(found, read_line(line));
  if (!found) return false;
  if (line.empty()) return refuse("an empty line");
  TRY(take_line(line.front(), line.substr(1), replies));
  return true;
}

Result<bool> RespReader::read_line(std::string_view& line) {
  const std::size_t end = buffer_.find(line_end, std::max(at_, searched_));
  const bool may_end = end == std::string::npos && at_ < buffer_.size() && buffer_.back() == line_end.front();
  const std::size_t size = std::min(end, buffer_.size() - (may_end ? 1 : 0)) - at_;
  if (size > limits_.line_max) return refuse("a line of more than " + std::to_string(limits_.line_max) + " bytes");
  if (end == std::string::npos) {
    searched_ = std::max(at_, buffer_.empty() ? 0 : buffer_.size() - 1);  // a lone \r may end it
    return false;
  }
  line = std::string_view(buffer_).substr(at_, size);
  at_ = end + line_end.size();
  return true;
}

Result<void> RespReader::take_line(char kind, std::string_view line, std::vector<Reply>& replies) {
  bytes_ += line.size();
  if (kind == '+') return add({RespStatus{std::string(line)}}, replies);
  if (kind == '-') return add({RespError{std::string(line)}}, replies);
  std::int64_t number = 0;
  if (kind != ':' && kind != '$' && kind != '*') return refuse("a reply of no known kind");
  if (!read_number(line, number)) return refuse("no number where there must be one");
  if (kind == ':') return add({number}, replies);
  if (number == -1) return add({RespNull{}}, replies);
  if (number < 0) return refuse("a negative size");
  return kind == '$' ? open_string(number) : open_array(number, replies);
}

Result<void> RespReader::open_string(std::int64_t size) {
  if (static_cast<std::uint64_t>(size) > limits_.string_max) {
    return refuse("a string of more than " + std::to_string(limits_.string_max) + " bytes");
  }
  in_string_ = true;
  string_size_ = static_cast<std::size_t>(size);
  return {};
}

Result<void> RespReader::open_array(std::int64_t size, std::vector<Reply>& replies) {
  if (static_cast<std::uint64_t>(size) > limits_.elements_max - std::min(elements_, limits_.elements_max)) {
    return refuse("more than " + std::to_string(limits_.elements_max) + " elements");
  }
  if (open_.size() >= limits_.depth_max) {
    return refuse("arrays within more than " + std::to_string(limits_.depth_max) + " others");
  }
  if (size == 0) return add({RespArray()}, replies);
  open_.push_back({{}, static_cast<std::size_t>(size)});
  return {};
}

Result<void> RespReader::add(Reply reply, std::vector<Reply>& replies) {
  ++elements_;
  if (const std::string* text = reply.text()) bytes_ += text->size();
  if (elements_ > limits_.elements_max) {
    return refuse("more than " + std::to_string(limits_.elements_max) + " elements");
  }
  if (bytes_ > limits_.bytes_max) {
    return refuse("a reply of more than " + std::to_string(limits_.bytes_max) + " bytes");
  }
  while (!open_.empty()) {
    open_.back().elements.push_back(std::move(reply));
    if (--open_.back().missing > 0) return {};
    reply = Reply{std::move(open_.back().elements)};
    open_.pop_back();
  }
  replies.push_back(std::move(reply));
  elements_ = 0;
  bytes_ = 0;
  return {};
}

}  // namespace cadre::net::redis
