#include "gateway/static_file.h"

#include <fcntl.h>

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "loop/file.h"
#include "net/http/message.h"

namespace cadre::gateway {
namespace {

constexpr std::int64_t size_max = std::int64_t{64} << 20;

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> types = {{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".map", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".ico", "image/x-icon"},
    {".txt", "text/plain; charset=utf-8"},
    {".wasm", "application/wasm"},
    {".woff2", "font/woff2"},
    {".md", "text/plain; charset=utf-8"},
}};

std::string type_of(std::string_view name) {
  for (const auto& [ending, type] : types) {
    if (name.ends_with(ending)) return std::string(type);
  }
  return "application/octet-stream";
}

Failure nothing(std::string_view path) { return fail(Errc::not_found, "there is no " + std::string(path)); }

}  // namespace

Result<StaticFile> read_static(const std::string& folder, std::string_view path) {
  const Result<std::string> plain = net::http::unescape(path);
  if (!plain || !plain->starts_with('/') || plain->find('\0') != std::string::npos) return nothing(path);
  std::string_view rest = std::string_view(*plain).substr(1);
  if (rest.empty()) rest = "index.html";
  Result<loop::File> at = loop::File::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!at) return nothing(path);
  std::string name;
  for (bool is_last = false; !is_last;) {
    const std::size_t slash = rest.find('/');
    is_last = slash == std::string_view::npos;
    name = rest.substr(0, slash);
    rest.remove_prefix(is_last ? rest.size() : slash + 1);
    if (name.empty() || name.starts_with('.')) return nothing(path);
    at = at->open_entry(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (is_last ? 0 : O_DIRECTORY));
    if (!at) return nothing(path);
  }
  const Result<std::int64_t> size = at->size();
  if (!at->is_plain() || !size || *size > size_max) return nothing(path);
  StaticFile file{std::string(static_cast<std::size_t>(*size), '\0'), type_of(name)};
  const Result<std::size_t> count = at->read_at(0, std::as_writable_bytes(std::span(file.body)));
  if (!count) return nothing(path);
  file.body.resize(*count);
  return file;
}

}  // namespace cadre::gateway
