#include "objects/webhdfs/client.h"

#include <algorithm>
#include <utility>

#include "describe/describe.h"

namespace cadre::objects::webhdfs {

using describe::Value;
using net::http::Method;
using net::http::Question;
using net::http::Response;

namespace {

std::string escape_path(const std::string& path) {
  std::string escaped;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    escaped += net::http::escape(std::string_view(path).substr(at, slash - at));
    if (slash < path.size()) escaped += '/';
    at = slash + 1;
  }
  return escaped;
}

Failure unexpected(const std::string& path) {
  return fail(Errc::corrupt, path + ": the response is not one of WebHDFS; check `url`");
}

const std::string* text_in(const Value* value) { return value == nullptr ? nullptr : value->as<std::string>(); }
const std::int64_t* number_in(const Value* value) { return value == nullptr ? nullptr : value->as<std::int64_t>(); }

Result<Value> parse(std::string_view body, const std::string& path) {
  describe::Parsed parsed = describe::parse_json(body, {.size_bytes = std::size_t{64} << 20, .depth = 16});
  if (!parsed || parsed->as<Value::Map>() == nullptr) return unexpected(path);
  return *std::move(parsed);
}

Result<FileStatus> read_status(const Value* value, const std::string& path) {
  if (value == nullptr || value->as<Value::Map>() == nullptr) return unexpected(path);
  const std::string* type = text_in(value->find("type"));
  const std::string* name = text_in(value->find("pathSuffix"));
  const std::int64_t* size = number_in(value->find("length"));
  const std::int64_t* modified_ms = number_in(value->find("modificationTime"));
  if (type == nullptr || name == nullptr || size == nullptr || *size < 0 || modified_ms == nullptr) {
    return unexpected(path);
  }
  constexpr std::int64_t ms_max = 4'102'444'800'000;  // of the year 2100
  const std::int64_t modified = std::clamp<std::int64_t>(*modified_ms, 0, ms_max);
  return FileStatus{*name, *type == "DIRECTORY", *size, TimePoint(std::chrono::milliseconds(modified))};
}

struct Known {
  std::string_view part;  ///< of the exception or its message
  Errc errc;
  std::string_view words;
};

constexpr Known known[] = {
    {"FileNotFoundException", Errc::not_found, "it does not exist"},
    {"FileAlreadyExistsException", Errc::conflict, "it exists"},
    {"ParentNotDirectoryException", Errc::conflict, "an object cannot be the folder of another one"},
    {"QuotaExceededException", Errc::unavailable, "the quota of the folder is exhausted: raise it, or remove objects"},
    {"attributes provided was not found", Errc::corrupt, "it has no SHA-256: another program has written it"},
    {"could only be", Errc::unavailable, "HDFS is full or has too few data nodes: add some, or remove files"},
    {"No space left on device", Errc::unavailable, "HDFS is full: remove files"},
    {"SafeModeException", Errc::unavailable, "HDFS is in safe mode: repeat it later"},
    {"StandbyException", Errc::unavailable, "this name node is on standby: set `url` to the active one"},
    {"AccessControlException", Errc::denied, "the user has no permission: correct `user` and `path`"},
    {"SecurityException", Errc::denied, "the server asks for a login that cadre does not have: correct `user`"},
    {"UnsupportedOperationException", Errc::invalid,
     "HDFS has no extended attributes: set dfs.namenode.xattrs.enabled"},
};

}  // namespace

Result<std::unique_ptr<Client>> Client::make(const WebhdfsStoreConfig& config, const StoreOptions& options) {
  Result<HttpUrl> url = parse_http_url(config.url);
  if (!url) return fail(Errc::invalid, "the URL of WebHDFS " + url.error().message);
  return std::unique_ptr<Client>(new Client(config, options, *std::move(url)));
}

Client::Client(const WebhdfsStoreConfig& config, const StoreOptions& options, HttpUrl url)
    : url_(std::move(url)),
      user_(config.user),
      sessions_(
          {.ca_file = config.ca_file, .timeout = config.timeout, .answer_max = ByteSize{64 << 20}, .store = options}) {}

Question Client::question_of(Method method, const std::string& path, const Query& query) const {
  Question question;
  question.method = method;
  question.url =
      url_.origin() + url_.path + "/webhdfs/v1" + escape_path(path) + "?user.name=" + net::http::escape(user_);
  for (const auto& [name, value] : query) question.url += "&" + name + "=" + net::http::escape(value);
  return question;
}

Failure Client::explain(const Response& response, const std::string& path) const {
  std::string exception;
  std::string message;
  if (const auto body = parse(response.content(), path)) {
    const Value* remote = body->find("RemoteException");
    const bool is_map = remote != nullptr && remote->as<Value::Map>() != nullptr;
    if (const std::string* text = is_map ? text_in(remote->find("exception")) : nullptr) exception = *text;
    if (const std::string* text = is_map ? text_in(remote->find("message")) : nullptr) message = *text;
  }
  Known cause{"", Errc::invalid, "the server refuses the request: check that `url` is a name node"};
  if (response.status >= 500) cause = {"", Errc::unavailable, "the server has a fault: repeat it later"};
  if (response.status == 401 || response.status == 403) {
    cause = {"", Errc::denied, "the server refuses the user: correct `user`"};
  }
  if (response.status == 507) cause = {"", Errc::unavailable, "the server is full: free space there"};
  const auto* found = std::ranges::find_if(known, [&](const Known& one) {
    return exception.find(one.part) != std::string::npos || message.find(one.part) != std::string::npos;
  });
  if (found != std::end(known)) cause = *found;
  std::string words = path + " at " + url_.origin() + ": " + std::string(cause.words) + " (user " + user_ +
                      ", status " + std::to_string(response.status);
  if (!exception.empty()) words += ", " + shown_text(exception);
  if (!message.empty()) words += ", " + shown_text(message);
  return fail(cause.errc, words + ")");
}

Result<Value> Client::ask(Method method, const std::string& path, const Query& query) {
  TRY_ASSIGN(response, sessions_.ask([&] { return question_of(method, path, query); }));
  if (response.status / 100 != 2) return explain(response, path);
  if (response.body.empty()) return Value(Value::Map{});
  return parse(response.body, path);
}

Result<bool> Client::ask_truth(Method method, const std::string& path, const Query& query) {
  TRY_ASSIGN(body, ask(method, path, query));
  const Value* truth = body.find("boolean");
  if (truth == nullptr || truth->as<bool>() == nullptr) return unexpected(path);
  return *truth->as<bool>();
}

Result<FileStatus> Client::status(const std::string& path) {
  TRY_ASSIGN(body, ask(Method::get, path, {{"op", "GETFILESTATUS"}}));
  return read_status(body.find("FileStatus"), path);
}

Result<std::vector<FileStatus>> Client::list(const std::string& folder) {
  TRY_ASSIGN(body, ask(Method::get, folder, {{"op", "LISTSTATUS"}}));
  const Value* statuses = body.find("FileStatuses");
  const Value* list =
      statuses == nullptr || statuses->as<Value::Map>() == nullptr ? nullptr : statuses->find("FileStatus");
  const auto* items = list == nullptr ? nullptr : list->as<Value::List>();
  if (items == nullptr) return unexpected(folder);
  std::vector<FileStatus> files;
  for (const Value& item : *items) {
    TRY_ASSIGN(file, read_status(&item, folder));
    files.push_back(std::move(file));
  }
  return files;
}

Result<void> Client::make_folder(const std::string& path) {
  TRY_ASSIGN(is_done, ask_truth(Method::put, path, {{"op", "MKDIRS"}, {"permission", "700"}}));
  if (!is_done) return fail(Errc::unavailable, path + ": HDFS has not created this folder");
  return {};
}

Result<bool> Client::rename(const std::string& from, const std::string& to) {
  return ask_truth(Method::put, from, {{"op", "RENAME"}, {"destination", to}});
}

Result<void> Client::remove(const std::string& path) {
  TRY(ask_truth(Method::remove, path, {{"op", "DELETE"}, {"recursive", "false"}}));
  return {};
}

Result<void> Client::set_attribute(const std::string& path, const std::string& name, const std::string& value) {
  TRY(ask(Method::put, path,
          {{"op", "SETXATTR"}, {"xattr.name", name}, {"xattr.value", "\"" + value + "\""}, {"flag", "CREATE"}}));
  return {};
}

Result<std::string> Client::attribute(const std::string& path, const std::string& name) {
  TRY_ASSIGN(body, ask(Method::get, path, {{"op", "GETXATTRS"}, {"xattr.name", name}, {"encoding", "text"}}));
  const Value* list = body.find("XAttrs");
  const auto* items = list == nullptr ? nullptr : list->as<Value::List>();
  const bool is_one = items != nullptr && items->size() == 1 && items->front().as<Value::Map>() != nullptr;
  const std::string* value = is_one ? text_in(items->front().find("value")) : nullptr;
  if (value == nullptr || value->size() < 2 || !value->starts_with('"') || !value->ends_with('"')) {
    return unexpected(path);
  }
  return value->substr(1, value->size() - 2);
}

Result<std::string> Client::redirection(Method method, const std::string& path, const Query& query) {
  TRY_ASSIGN(response, sessions_.ask([&] { return question_of(method, path, query); }));
  if (response.status != 307) return response.status / 100 == 2 ? unexpected(path) : explain(response, path);
  std::string location(net::http::find(response.headers, "Location"));
  const std::size_t question = std::min(location.find('?'), location.size());
  if (!parse_http_url(std::string_view(location).substr(0, question))) return unexpected(path);
  return location;
}

Result<void> Client::create(const std::string& path, CheckedSource& content) {
  TRY_ASSIGN(location,
             redirection(Method::put, path, {{"op", "CREATE"}, {"overwrite", "true"}, {"permission", "600"}}));
  std::optional<Error> stopped;
  Question question;
  question.method = Method::put;
  question.url = std::move(location);
  question.headers = {{"Content-Type", "application/octet-stream"}};
  question.upload.size = content.left();
  question.upload.read = [&](std::span<char> into) -> std::size_t {
    const Result<std::size_t> size = content.read(std::as_writable_bytes(into));
    if (size) return *size;
    stopped = size.error();
    return 0;
  };
  Result<Response> response = sessions_.ask_once(std::move(question));
  if (stopped) return Failure(*std::move(stopped));
  if (!response) return Failure(std::move(response).error());
  if (response->status != 201) return explain(*response, path);
  return {};
}

Result<void> Client::read(const std::string& path, ByteRange range, const ByteSink& sink) {
  const auto make = [&](std::int64_t done) -> Result<Question> {
    const Query query{
        {"op", "OPEN"}, {"offset", std::to_string(range.offset + done)}, {"length", std::to_string(range.size - done)}};
    Question question;
    TRY_ASSIGN(location, redirection(Method::get, path, query));
    question.url = std::move(location);
    return question;
  };
  TRY_ASSIGN(response, sessions_.download(range.size, make, sink));
  if (response.status / 100 != 2) return explain(response, path);
  return {};
}

}  // namespace cadre::objects::webhdfs
