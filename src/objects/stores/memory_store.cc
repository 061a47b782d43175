#include "objects/stores/memory_store.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "objects/key.h"

namespace cadre::objects {

namespace {

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::int64_t bytes_max) : bytes_max_(bytes_max) {}

 private:
  struct Object {
    Digest digest;
    Bytes bytes;
  };

  std::int64_t object_bytes_max() const override { return bytes_max_; }

  Result<Digest> find(const std::string& key) override {
    TRY_ASSIGN(object, object_of(key));
    return object->digest;
  }

  Result<void> write(const std::string& key, CheckedSource& content) override;

  Result<void> fetch(const std::string& key, const Digest& digest, ByteRange range, const ByteSink& sink) override {
    TRY_ASSIGN(object, object_of(key));
    TRY(check_same(key, object->digest, digest));  // it may have been replaced meanwhile
    return sink(
        BytesView(object->bytes).subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size)));
  }

  Result<ObjectPage> list_page(const std::string& prefix, const std::string& after, std::size_t limit) override;

  Result<void> erase(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) return {};
    bytes_ -= found->second->digest.size;
    objects_.erase(found);
    return {};
  }

  Result<void> clean_up() override { return {}; }

  Result<std::shared_ptr<const Object>> object_of(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(key);
    if (found == objects_.end()) return fail(Errc::not_found, "there is no object " + shown_key(key));
    return found->second;
  }

  const std::int64_t bytes_max_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Object>> objects_;  // shared with threads that read one
  std::int64_t bytes_ = 0;                                        // of all objects
};

Result<void> MemoryStore::write(const std::string& key, CheckedSource& content) {
  const auto object = std::make_shared<Object>();
  object->digest = content.digest();
  constexpr std::size_t piece = 1 << 20;
  while (content.left() > 0) {
    const std::size_t had = object->bytes.size();
    object->bytes.resize(had + std::min<std::size_t>(piece, static_cast<std::size_t>(content.left())));
    TRY(content.read(std::span(object->bytes).subspan(had)));
  }
  const std::lock_guard lock(mutex_);
  if (const auto found = objects_.find(key); found != objects_.end()) {
    return check_same(key, found->second->digest, object->digest);
  }
  if (object->digest.size > bytes_max_ - bytes_) {
    return fail(Errc::unavailable, "the store in memory is full: it holds " + to_string(ByteSize{bytes_}) + " of " +
                                       to_string(ByteSize{bytes_max_}) + "; raise `bytes_max`, or remove objects");
  }
  bytes_ += object->digest.size;
  objects_.emplace(key, object);
  return {};
}

Result<ObjectPage> MemoryStore::list_page(const std::string& prefix, const std::string& after, std::size_t limit) {
  const std::lock_guard lock(mutex_);
  ObjectPage page;
  auto object = after < prefix ? objects_.lower_bound(prefix) : objects_.upper_bound(after);
  for (; object != objects_.end() && object->first.starts_with(prefix); ++object) {
    if (page.objects.size() == limit) {
      page.next = page.objects.back().key;
      break;
    }
    page.objects.push_back({object->first, object->second->digest.size});
  }
  return page;
}

}  // namespace

std::unique_ptr<Store> open_memory_store(const MemoryStoreConfig& config) {
  return std::make_unique<MemoryStore>(config.bytes_max.value);
}

}  // namespace cadre::objects
