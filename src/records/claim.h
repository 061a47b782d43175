/// The right to be the only master of a database, which ends with the process that holds it, however that ends: for a
/// file a lock that the kernel keeps, on a server one that belongs to the connection. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "database/database.h"
#include "database/url.h"

namespace cadre::records {

class Claim {
 public:
  /// Errc::conflict when another process has it, after a short wait for the dying.
  [[nodiscard]] static Result<Claim> take(std::string_view url, database::Database& database);

  Claim(Claim&& other) noexcept : file_(std::exchange(other.file_, -1)), on_server_(other.on_server_) {}
  Claim& operator=(Claim&&) = delete;
  ~Claim();

  bool on_server() const { return on_server_; }
  /// An SQL expression: 1 on the connection that holds it, 0 on one that was made anew.
  std::string_view held_sql() const;
  /// Takes it on a connection that was made anew, unless another has it: perhaps the old one, which the server has not
  /// yet given up.
  [[nodiscard]] Result<void> renew(database::Transaction& transaction) const;

 private:
  Claim() = default;
  Result<void> take_file(const std::string& path);
  static Result<void> take_on_server(database::Database& database);

  int file_ = -1;
  bool on_server_ = false;
};

}  // namespace cadre::records
