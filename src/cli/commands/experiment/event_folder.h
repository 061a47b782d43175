/// A folder of TensorBoard event files, one for each trial, that is removed again unless it is complete. One thread at
/// a time.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "experiment/ids.h"
#include "loop/file.h"

namespace cadre::cli {

class EventFolder {
 public:
  /// Makes the folder, which may exist already if it is empty. `now` is part of the names of its files.
  [[nodiscard]] static Result<EventFolder> open(std::string folder, TimePoint now);
  EventFolder(EventFolder&& other) noexcept;
  EventFolder& operator=(EventFolder&&) = delete;
  /// Removes what it has made, unless finish() was called.
  ~EventFolder();

  /// Begins the file of a trial; TensorBoard does not see it before it ends.
  [[nodiscard]] Result<void> begin(experiment::TrialId trial);
  [[nodiscard]] Result<void> write(const std::string& records);
  [[nodiscard]] Result<void> end();

  /// Keeps all of it.
  void finish();

 private:
  EventFolder() = default;
  std::string draft() const { return made_.back() + "/partial"; }

  std::string folder_;
  bool is_new_ = false;
  std::string file_name_;
  std::vector<std::string> made_;  ///< folders of trials
  loop::File file_;                ///< of the last of them
};

}  // namespace cadre::cli
