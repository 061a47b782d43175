/// Requests to WebHDFS: to a name node, which says to which data node bytes go. Every function blocks; safe on any
/// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "describe/value.h"
#include "net/http/message.h"
#include "objects/bytes_io.h"
#include "objects/checked_source.h"
#include "objects/stores/http_sessions.h"
#include "objects/stores/http_url.h"

namespace cadre::objects::webhdfs {

struct FileStatus {
  std::string name;  ///< within its folder
  bool is_folder = false;
  std::int64_t size = 0;
  TimePoint modified;  ///< counted from 1970, by the clock of the server
};

/// Paths are absolute within HDFS and not escaped.
class Client {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Client>> make(const WebhdfsStoreConfig& config,
                                                            const StoreOptions& options);

  [[nodiscard]] Result<FileStatus> status(const std::string& path);
  [[nodiscard]] Result<std::vector<FileStatus>> list(const std::string& folder);
  [[nodiscard]] Result<void> make_folder(const std::string& path);
  /// Whether it was done: `to` must not exist.
  [[nodiscard]] Result<bool> rename(const std::string& from, const std::string& to);
  /// A file or an empty folder; no error when there is none.
  [[nodiscard]] Result<void> remove(const std::string& path);
  [[nodiscard]] Result<void> set_attribute(const std::string& path, const std::string& name, const std::string& value);
  [[nodiscard]] Result<std::string> attribute(const std::string& path, const std::string& name);

  /// Writes a new file, once: whoever can begin the content again may repeat it.
  [[nodiscard]] Result<void> create(const std::string& path, CheckedSource& content);
  [[nodiscard]] Result<void> read(const std::string& path, ByteRange range, const ByteSink& sink);

 private:
  Client(const WebhdfsStoreConfig& config, const StoreOptions& options, HttpUrl url);
  using Query = net::http::Query;
  net::http::Question question_of(net::http::Method method, const std::string& path, const Query& query) const;
  /// The JSON of a response of 2xx.
  Result<describe::Value> ask(net::http::Method method, const std::string& path, const Query& query);
  Result<bool> ask_truth(net::http::Method method, const std::string& path, const Query& query);
  /// To which URL the name node sends the bytes.
  Result<std::string> redirection(net::http::Method method, const std::string& path, const Query& query);
  Failure explain(const net::http::Response& response, const std::string& path) const;

  const HttpUrl url_;
  const std::string user_;
  HttpSessions sessions_;
};

}  // namespace cadre::objects::webhdfs
