#include "records/columns.h"

#include "base/check.h"
#include "base/overloaded.h"

namespace cadre::records {

const database::Value& CellReader::next() {
  CHECK(at_ < cells_.size());
  return cells_[at_++];
}

void CellReader::note_key() {
  CHECK(at_ < cells_.size());
  if (!key_.empty()) key_ += '.';
  key_ += std::visit(overloaded{
                         [](std::int64_t number) { return std::to_string(number); },
                         [](const std::string& text) { return text; },
                         [](const auto&) { return std::string("?"); },
                     },
                     static_cast<const database::Value::variant&>(cells_[at_]));
}

void CellReader::check(std::string_view column, const Result<void>& read) {
  if (read || problem_) return;
  column_ = column;
  problem_ = read.error();
}

Result<void> CellReader::finish(std::string_view table) const {
  if (!problem_) return {};
  return fail(Errc::corrupt, "table " + std::string(table) + ", row " + key_ + ", column " + column_ + ": " +
                                 problem_->message + "; restore a backup, or correct the row");
}

}  // namespace cadre::records
