/// Builds the conditions of a query with its parameters. A value; one thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "database/value.h"

namespace cadre::master {

class Where {
 public:
  /// `?` in the condition stands for the values in turn.
  template <class... Values>
  Where& add(std::string_view condition, Values... values) {
    text_ += text_.empty() ? "WHERE " : " AND ";
    (params_.emplace_back(std::move(values)), ...);
    append(condition, sizeof...(Values));
    return *this;
  }
  /// The column has one of these values.
  Where& add_any_of(std::string_view column, database::Values values) {
    text_ += (text_.empty() ? "WHERE " : " AND ") + std::string(column) + " IN (";
    for (std::size_t i = 0; i < values.size(); ++i) {
      params_.push_back(std::move(values[i]));
      text_ += (i == 0 ? "$" : ", $") + std::to_string(params_.size());
    }
    text_ += ')';
    return *this;
  }
  /// What follows the conditions.
  template <class... Values>
  Where& then(std::string_view text, Values... values) {
    text_ += ' ';
    (params_.emplace_back(std::move(values)), ...);
    append(text, sizeof...(Values));
    return *this;
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const database::Values& params() const { return params_; }

 private:
  void append(std::string_view text, std::size_t values) {
    std::size_t number = params_.size() - values;
    for (const char c : text) {
      if (c == '?') {
        text_ += "$" + std::to_string(++number);
      } else {
        text_ += c;
      }
    }
  }

  std::string text_;
  database::Values params_;
};

}  // namespace cadre::master
