#include "records/row_types.h"

namespace cadre::records {

Result<const RowTypes::Type*> RowTypes::find(std::type_index type) const {
  const auto found = types_.find(type);
  if (found != types_.end()) return &found->second;
  return fail(Errc::invalid, std::string("rows of type ") + type.name() + " were not declared");
}

Result<void> RowTypes::write(database::Transaction& transaction, const api::RowBatch& batch, Pieces pieces) const {
  TRY_ASSIGN(type, find(batch.type));
  return type->write(transaction, batch, pieces);
}

Result<std::shared_ptr<void>> RowTypes::read(database::Transaction& transaction, std::type_index type,
                                             std::string_view where) const {
  TRY_ASSIGN(known, find(type));
  return known->read(transaction, where);
}

}  // namespace cadre::records
