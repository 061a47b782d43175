/// Requests that clients without the store's key may make, each for a while: a URL is signed for one request. For
/// stores to which clients can speak themselves. A signed URL is a credential: do not log it. Every function blocks,
/// and may be called from any number of threads at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/http/message.h"
#include "objects/digest.h"

namespace cadre::objects {

struct SignedRequest {
  net::http::Method method = net::http::Method::get;
  std::string url;
  net::http::Headers headers;  ///< must be sent as they are
};

class Presigner {
 public:
  virtual ~Presigner() = default;

  /// `valid` is at most a week, in all of them.
  [[nodiscard]] virtual Result<SignedRequest> sign_get(const std::string& key, Duration valid) = 0;
  /// An upload in one request, of which the server checks the size and, where it knows x-amz-checksum-sha256, the hash;
  /// Store::get checks it in any case. At most 5 GiB.
  [[nodiscard]] virtual Result<SignedRequest> sign_put(const std::string& key, const Digest& digest,
                                                       Duration valid) = 0;

  struct PartedUpload {
    std::string id;
    std::int64_t part_bytes = 0;  ///< of every part but the last one
    std::int32_t parts = 0;
  };
  /// An upload in parts, which nobody sees before complete(). `conflict` when an object with other content is there.
  [[nodiscard]] virtual Result<PartedUpload> begin_parts(const std::string& key, const Digest& digest) = 0;
  /// Number 1 is the first. The response has a header ETag, which complete() needs.
  [[nodiscard]] virtual Result<SignedRequest> sign_part(const std::string& key, const Digest& digest,
                                                        const std::string& id, std::int32_t number, Duration valid) = 0;
  /// Makes the object appear. `corrupt`, and there is no object, when the parts do not have the size of the whole.
  [[nodiscard]] virtual Result<void> complete(const std::string& key, const Digest& digest, const std::string& id,
                                              const std::vector<std::string>& etags) = 0;
  [[nodiscard]] virtual Result<void> abort(const std::string& key, const std::string& id) = 0;
};

}  // namespace cadre::objects
