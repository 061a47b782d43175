/// The sections of a master's configuration file that belong to its parts: each part takes the one with its settings.
/// One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "describe/describe.h"
#include "describe/outline.h"

namespace cadre::api {

class Sections {
 public:
  Sections() = default;
  /// What the file has under keys that are not the master's own.
  explicit Sections(describe::Value::Map entries) : entries_(std::move(entries)) {}

  /// The settings under this key; the defaults where there are none, or faulty ones, which faults() lists.
  template <class T>
  [[nodiscard]] T take(std::string_view key) {
    T settings{};
    taken_.push_back({std::string(key),
                      std::string(describe::doc_of<T>()),
                      false,
                      {},
                      describe::write(settings),
                      describe::outline<T>()});
    for (const describe::Entry& entry : entries_) {
      if (entry.key != key) continue;
      const describe::Path root;
      const describe::Path path(root, key);
      const std::size_t before = faults_.count();
      T read{};
      describe::read_into(entry.value, read, describe::Place{path, faults_});
      if (faults_.count() == before) settings = std::move(read);
    }
    return settings;
  }

  /// The sections that were taken, for the reference page of the file.
  const std::vector<describe::FieldShape>& taken() const { return taken_; }

  /// What is wrong with sections that were taken, and those that nobody took. `own` are the keys of the master itself.
  [[nodiscard]] describe::Faults faults(std::vector<std::string_view> own) const;

 private:
  describe::Value::Map entries_;
  std::vector<describe::FieldShape> taken_;
  describe::Faults faults_;
};

}  // namespace cadre::api
