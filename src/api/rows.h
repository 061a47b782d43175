/// Rows of any tables that a part wants to have written. A part declares its rows as plain structs, beside them
///
///   template <class V> void columns(V& v, CounterRow& row) { v.key("name", row.name); v.column("value", row.value); }
///   inline std::string_view table_of(const CounterRow&) { return "counters"; }
///   inline const std::string& key_of(const CounterRow& row) { return row.name; }
///
/// and lists their types once; `records` knows how to write them. Values; safe on any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

namespace cadre::api {

/// Rows of one type, and what is to become of them.
struct RowBatch {
  enum class Act : std::uint8_t {
    put,     ///< new rows, and old ones with what is new in them
    change,  ///< rows that are there; it is an error if one is not
    remove,  ///< only their keys count
  };
  Act act = Act::put;
  std::type_index type;
  std::shared_ptr<const void> rows;  ///< a std::vector of that type; shared so that a write can be repeated
};

/// Everything that one step writes, in this order and in one transaction. Writing it twice does no harm.
class Writes {
 public:
  template <class Row>
  void put(std::vector<Row> rows) {
    add(RowBatch::Act::put, std::move(rows));
  }
  template <class Row>
  void change(std::vector<Row> rows) {
    add(RowBatch::Act::change, std::move(rows));
  }
  template <class Row>
  void remove(std::vector<Row> rows) {
    add(RowBatch::Act::remove, std::move(rows));
  }
  /// The largest number of this kind that was given out: it is never given out again, even if its row is removed.
  void raise(const std::string& kind, std::uint64_t number) {
    std::uint64_t& last = last_[kind];
    last = std::max(last, number);
  }
  void append(Writes more) {
    for (RowBatch& batch : more.batches_) batches_.push_back(std::move(batch));
    for (const auto& [kind, number] : more.last_) raise(kind, number);
  }

  /// The rows of this type that it puts, or does this with; null: none. At most one batch of each type is looked for.
  template <class Row>
  std::shared_ptr<const std::vector<Row>> rows(RowBatch::Act act = RowBatch::Act::put) const {
    for (const RowBatch& batch : batches_) {
      if (batch.act == act && batch.type == typeid(Row)) {
        return std::static_pointer_cast<const std::vector<Row>>(batch.rows);
      }
    }
    return nullptr;
  }

  bool empty() const { return batches_.empty(); }
  const std::vector<RowBatch>& batches() const { return batches_; }
  std::uint64_t last(const std::string& kind) const {
    const auto found = last_.find(kind);
    return found == last_.end() ? 0 : found->second;
  }

 private:
  template <class Row>
  void add(RowBatch::Act act, std::vector<Row> rows) {
    if (rows.empty()) return;
    batches_.push_back({act, typeid(Row), std::make_shared<const std::vector<Row>>(std::move(rows))});
  }

  std::vector<RowBatch> batches_;
  std::map<std::string, std::uint64_t> last_;
};

}  // namespace cadre::api
