#include "database/rows.h"

#include <algorithm>

namespace cadre::database {

Result<std::size_t> Row::find(std::string_view column) const {
  const auto at = std::find(columns_->begin(), columns_->end(), column);
  if (at != columns_->end()) return static_cast<std::size_t>(at - columns_->begin());
  std::string message = "there is no column '" + std::string(column) + "' among";
  for (const std::string& name : *columns_) message += " " + name;
  return fail(Errc::invalid, std::move(message));
}

Error Row::wrong_kind(std::size_t column, const Value& wanted) const {
  if (column >= cells_->size()) {
    return {Errc::invalid,
            "there is no column " + std::to_string(column) + ": the row has " + std::to_string(cells_->size())};
  }
  return {Errc::corrupt, "column '" + columns_->at(column) + "' holds " + std::string(kind_of((*cells_)[column])) +
                             " where " + std::string(kind_of(wanted)) + " was expected"};
}

Error Row::wrong_width(std::size_t wanted) const {
  return {Errc::invalid,
          "the row has " + std::to_string(cells_->size()) + " columns, not " + std::to_string(wanted) + " as expected"};
}

Result<Row> Rows::one() const {
  if (rows_.empty()) return fail(Errc::not_found, "the query returned no row");
  if (rows_.size() > 1)
    return fail(Errc::invalid, std::to_string(rows_.size()) + " rows were returned where one was expected");
  return (*this)[0];
}

}  // namespace cadre::database
