#include "objects/bytes_io.h"

#include <fcntl.h>

#include <algorithm>

namespace cadre::objects {

Result<std::size_t> BytesSource::read(std::span<std::byte> into) {
  const BytesView next = bytes_.subspan(at_, std::min(into.size(), bytes_.size() - at_));
  std::ranges::copy(next, into.begin());
  at_ += next.size();
  return next.size();
}

Result<FileSource> FileSource::open(const std::string& path) {
  TRY_ASSIGN(file, loop::File::open(path, O_RDONLY | O_NONBLOCK));  // it may be a pipe without a writer
  if (!file.is_plain()) return fail(Errc::invalid, path + ": not a regular file");
  return FileSource(std::move(file));
}

Result<std::size_t> FileSource::read(std::span<std::byte> into) {
  TRY_ASSIGN(size, file_.read_at(at_, into));
  at_ += static_cast<std::int64_t>(size);
  return size;
}

}  // namespace cadre::objects
