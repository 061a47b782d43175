/// How rows of any type are written and read: each part of a master lists the types of its rows. One thread at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <vector>

#include "api/rows.h"
#include "records/table.h"

namespace cadre::records {

class RowTypes {
 public:
  template <class... Rows>
  RowTypes& add(std::type_identity<std::tuple<Rows...>>) {
    (add_one<Rows>(), ...);
    return *this;
  }

  /// `invalid` when the type was never added.
  [[nodiscard]] Result<void> write(database::Transaction& transaction, const api::RowBatch& batch, Pieces pieces) const;
  /// A std::vector of that type with the rows for which `where` holds (see get()), in the order of their keys.
  [[nodiscard]] Result<std::shared_ptr<void>> read(database::Transaction& transaction, std::type_index type,
                                                   std::string_view where) const;

 private:
  struct Type {
    Result<void> (*write)(database::Transaction&, const api::RowBatch&, Pieces);
    Result<std::shared_ptr<void>> (*read)(database::Transaction&, std::string_view where);
  };
  template <class Row>
  void add_one() {
    types_.insert_or_assign(
        typeid(Row),
        Type{[](database::Transaction& transaction, const api::RowBatch& batch, Pieces pieces) -> Result<void> {
               const auto& rows = *static_cast<const std::vector<Row>*>(batch.rows.get());
               switch (batch.act) {
                 case api::RowBatch::Act::put: return put(transaction, rows, pieces);
                 case api::RowBatch::Act::change: return change(transaction, rows, pieces);
                 case api::RowBatch::Act::remove: return remove(transaction, rows);
               }
               return {};
             },
             [](database::Transaction& transaction, std::string_view where) -> Result<std::shared_ptr<void>> {
               auto rows = std::make_shared<std::vector<Row>>();
               TRY(get(transaction, where, {}, *rows));
               sort_by_key(*rows);
               return std::shared_ptr<void>(std::move(rows));
             }});
  }
  Result<const Type*> find(std::type_index type) const;

  std::map<std::type_index, Type> types_;
};

}  // namespace cadre::records
