#include "base/overloaded.h"
#include "names/backend_names.h"
#include "names/file/file_backend.h"
#include "names/master/master_backend.h"
#include "names/memory_backend.h"
#include "names/names.h"
#include "names/redis/redis_backend.h"

namespace cadre::names {

namespace {

/// The place where a kind of backend is added.
Result<std::shared_ptr<Backend>> make_backend(loop::RealLoop& loop, loop::BlockingPool& pool, const Url& parsed,
                                              const Options& options) {
  return std::visit(
      overloaded{
          [&](const MemoryUrl& url) -> Result<std::shared_ptr<Backend>> { return make_memory_backend(loop, url.name); },
          [&](const FileUrl& url) -> Result<std::shared_ptr<Backend>> {
            return make_file_backend(loop, pool, url.folder, options);
          },
          [&](const RedisUrl& url) { return make_redis_backend(loop, url, options); },
          [&](const MasterUrl& url) -> Result<std::shared_ptr<Backend>> {
            if (url.address.empty()) return fail(Errc::invalid, "the URL of names has no address of a master");
            return make_master_backend(loop, url, options);
          },
      },
      parsed);
}

}  // namespace

Result<std::unique_ptr<Names>> open(loop::RealLoop& loop, loop::BlockingPool& pool, std::string_view url,
                                    const Options& options) {
  TRY_ASSIGN(parsed, parse_url(url));
  return open(loop, pool, parsed, options);
}

Result<std::unique_ptr<Names>> open(loop::RealLoop& loop, loop::BlockingPool& pool, const Url& url,
                                    const Options& options) {
  TRY_ASSIGN(backend, make_backend(loop, pool, url, options));
  return std::make_unique<BackendNames>(loop, std::move(backend), options);
}

std::unique_ptr<Names> open_memory(loop::Loop& loop, const std::string& name, const Options& options) {
  return std::make_unique<BackendNames>(loop, make_memory_backend(loop, name), options);
}

}  // namespace cadre::names
