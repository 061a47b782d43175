#include "objects/stores/http_sessions.h"

#include <algorithm>
#include <utility>

#include "describe/utf8.h"
#include "objects/stores/attempts.h"
#include "objects/stores/run_task.h"

namespace cadre::objects {

namespace {

/// A server that always sends something, but never more than this, is not waited for without end.
constexpr std::int64_t bytes_per_second_min = 16 << 10;

std::string without_query(std::string message, const std::string& url) {
  const std::size_t question = url.find('?');
  if (question == std::string::npos) return message;
  const std::string_view query = std::string_view(url).substr(question);
  for (std::size_t at = message.find(query); at != std::string::npos; at = message.find(query, at)) {
    message.erase(at, query.size());
  }
  return message;
}

Failure too_slow(const std::string& url) {
  return fail(Errc::timed_out, without_query(url, url) + ": the server sends or takes less than " +
                                   to_string(ByteSize{bytes_per_second_min}) + " in a second");
}

}  // namespace

bool is_transient_status(int status) {
  constexpr int statuses[] = {408, 429, 500, 502, 503, 504};
  return std::ranges::find(statuses, status) != std::end(statuses);
}

std::string shown_text(std::string_view text) {
  constexpr std::size_t shown_max = 300;
  return describe::escaped(describe::shortened(text, shown_max));
}

HttpSessions::Session::Session(const HttpSessionOptions& options)
    : client(loop, {.ca_file = options.ca_file,
                    .connect_wait = std::min<Duration>(options.timeout, std::chrono::seconds(5)),
                    .answer_max = options.answer_max,
                    .connections_max = 2}) {}

HttpSessions::HttpSessions(HttpSessionOptions options)
    : options_(std::move(options)),
      sessions_(options_.store.sessions_max, [this] { return std::make_unique<Session>(options_); }) {}

TimePoint HttpSessions::deadline(const Session& session, std::int64_t bytes) const {
  return session.loop.now() + options_.timeout + std::chrono::seconds(bytes / bytes_per_second_min);
}

/// In pieces, so that only silence and the deadline end it: a server may take long for a response and keep sending
/// spaces, as S3 does while it puts parts together.
Result<HttpSessions::Response> HttpSessions::ask_once(Question question) {
  const auto session = sessions_.borrow();
  const std::string url = question.url;
  const std::int64_t bytes =
      options_.answer_max.value + question.upload.size + static_cast<std::int64_t>(question.body.size());
  const TimePoint end = deadline(*session, bytes);
  question.wait = options_.timeout;
  std::string body;
  bool is_too_large = false;
  const auto on_piece = [&](std::string_view piece) {
    is_too_large = is_too_large || body.size() + piece.size() > static_cast<std::size_t>(options_.answer_max.value);
    if (!is_too_large) body += piece;
  };
  auto response =
      run_task(session->loop, session->client.ask(std::move(question), on_piece), end, [&] { return is_too_large; });
  if (is_too_large) return fail(Errc::corrupt, without_query(url, url) + ": the response is too large");
  if (!response) return too_slow(url);
  if (!*response) return fail(response->error().code, without_query(response->error().message, url));
  if ((*response)->status / 100 == 2) (*response)->body = std::move(body);
  return *std::move(response);
}

Result<HttpSessions::Response> HttpSessions::ask(const std::function<Question()>& make) {
  Attempts attempts(options_.store);
  while (true) {
    Result<Response> response = ask_once(make());
    const bool may_pass = response ? is_transient_status(response->status) : is_transient(response.error());
    if (!may_pass || !attempts.next()) return response;
  }
}

Result<HttpSessions::Response> HttpSessions::download_once(Question question, std::int64_t size, std::int64_t& done,
                                                           const ByteSink& sink, std::optional<Error>& stopped) {
  const auto session = sessions_.borrow();
  const std::string url = question.url;
  const TimePoint end = deadline(*session, size - done);
  question.wait = options_.timeout;
  const auto on_piece = [&](std::string_view piece) {
    if (stopped) return;
    if (piece.size() > static_cast<std::uint64_t>(size - done)) {
      stopped = Error{Errc::corrupt, without_query(url, url) + ": the server sent more bytes than were asked for"};
      return;
    }
    if (Result<void> taken = sink(as_bytes(piece)); !taken) {
      stopped = std::move(taken).error();
      return;
    }
    done += static_cast<std::int64_t>(piece.size());
  };
  auto response = run_task(session->loop, session->client.ask(std::move(question), on_piece), end,
                           [&] { return stopped.has_value(); });
  if (stopped) return Failure(*stopped);
  if (!response) return too_slow(url);
  if (!*response) return fail(response->error().code, without_query(response->error().message, url));
  return *std::move(response);
}

Result<HttpSessions::Response> HttpSessions::download(std::int64_t size, const MakeFrom& make, const ByteSink& sink) {
  Attempts attempts(options_.store);
  std::int64_t done = 0;
  while (true) {
    const std::int64_t before = done;
    std::optional<Error> stopped;
    TRY_ASSIGN(question, make(done));
    const std::string url = question.url;
    Result<Response> response = download_once(std::move(question), size, done, sink, stopped);
    if (stopped) return response;
    if (!response && done == size) return Response();  // lost only after its last byte
    if (response && response->status / 100 == 2) {
      if (done == size) return response;
      return fail(Errc::corrupt, without_query(url, url) + ": the response ended after " + std::to_string(done) +
                                     " of " + std::to_string(size) + " bytes");
    }
    const bool may_pass = response ? is_transient_status(response->status) : is_transient(response.error());
    if (!may_pass) return response;
    if (done > before) attempts.progress();
    if (!attempts.next()) return response;
  }
}

}  // namespace cadre::objects
