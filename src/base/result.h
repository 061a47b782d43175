/// Errors as values: what can fail returns a Result, nothing is thrown across a module's border. Safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace cadre {

enum class Errc : std::uint8_t {
  invalid,      ///< the input is wrong; repeating it cannot help
  not_found,    ///< what was named does not exist
  conflict,     ///< it contradicts the present state; look again, then repeat
  unavailable,  ///< nothing was done; repeating it later may help
  timed_out,    ///< no answer in time: it may or may not have been done
  denied,       ///< not allowed
  corrupt,      ///< stored or received bytes are not what they must be
};

constexpr auto enum_names(Errc) {
  return std::array{std::pair{Errc::invalid, "invalid"},     std::pair{Errc::not_found, "not_found"},
                    std::pair{Errc::conflict, "conflict"},   std::pair{Errc::unavailable, "unavailable"},
                    std::pair{Errc::timed_out, "timed_out"}, std::pair{Errc::denied, "denied"},
                    std::pair{Errc::corrupt, "corrupt"}};
}

std::string_view to_string(Errc code);

struct Error {
  Errc code = Errc::invalid;
  std::string message;
  bool operator==(const Error&) const = default;
};

template <class T>
using Result = tl::expected<T, Error>;

using Failure = tl::unexpected<Error>;

[[nodiscard]] inline Failure fail(Errc code, std::string message) { return Failure(Error{code, std::move(message)}); }

}  // namespace cadre

#define CADRE_CONCAT_INNER(a, b) a##b
#define CADRE_CONCAT(a, b) CADRE_CONCAT_INNER(a, b)

/// Evaluates a Result; on error returns it from the enclosing function.
#define TRY(expression)                                             \
  do {                                                              \
    if (auto cadre_try_result = (expression); !cadre_try_result) {  \
      return ::cadre::Failure(std::move(cadre_try_result).error()); \
    }                                                               \
  } while (false)

/// Declares `name` as the value of a Result; on error returns the error from the enclosing function.
#define TRY_ASSIGN(name, expression)                                                   \
  auto CADRE_CONCAT(cadre_result_, __LINE__) = (expression);                           \
  if (!CADRE_CONCAT(cadre_result_, __LINE__)) {                                        \
    return ::cadre::Failure(std::move(CADRE_CONCAT(cadre_result_, __LINE__)).error()); \
  }                                                                                    \
  auto name = *std::move(CADRE_CONCAT(cadre_result_, __LINE__))
