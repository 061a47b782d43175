// Random sequences of operations on both engines give what a std::map gives.
#include <map>

#include "base/seeds.h"
#include "database/backend_test.h"

namespace cadre::database {
namespace {

using Model = std::map<std::int64_t, Value>;

Value any_note(Dice& dice) {
  static const std::vector<Value> notes{Null{}, "", "a", "B", "tab\t", "line\n", "\\N", "it's", "ü", "😀", "\\"};
  return dice.pick(std::span<const Value>(notes));
}

/// Does one thing to the model and to the database, and compares what both say.
class Player {
 public:
  Player(Dice& dice, Model& model) : dice_(dice), model_(model) {}

  /// False when it ended in a conflict, as the model said it would.
  template <class Connection>
  bool play(Connection& connection) {
    const std::int64_t id = dice_.between(0, 20);
    switch (dice_.below(7)) {
      case 0: return insert(connection, id);
      case 1: return put(connection, id);
      case 2: return change(connection, id);
      case 3: return remove(connection, id, dice_.between(id, 22));
      case 4: return bulk(connection);
      case 5: return look_up(connection, id);
      default: return look_at_all(connection);
    }
  }

 private:
  bool agree(const Result<std::int64_t>& said, bool conflict, std::int64_t expected) {
    if (conflict) {
      EXPECT_FALSE(said);
      EXPECT_EQ(said.error().code, Errc::conflict) << said.error().message;
      return false;
    }
    EXPECT_TRUE(said) << said.error().message;
    EXPECT_EQ(*said, expected);
    return true;
  }
  bool agree(const Result<Rows>& said, const std::vector<Values>& expected) {
    EXPECT_TRUE(said) << said.error().message;
    EXPECT_TRUE(said->cells() == expected);
    return true;
  }
  bool insert(auto& connection, std::int64_t id) {
    const Value note = any_note(dice_);
    const auto said = connection.exec("INSERT INTO notes (id, note) VALUES ($1, $2)", {id, note});
    return agree(said, !model_.emplace(id, note).second, 1);
  }
  bool put(auto& connection, std::int64_t id) {
    const Value note = any_note(dice_);
    model_[id] = note;
    return agree(connection.exec("INSERT INTO notes (id, note) VALUES ($1, $2) "
                                 "ON CONFLICT (id) DO UPDATE SET note = excluded.note",
                                 {id, note}),
                 false, 1);
  }
  bool change(auto& connection, std::int64_t id) {
    const Value note = any_note(dice_);
    const auto at = model_.find(id);
    if (at != model_.end()) at->second = note;
    return agree(connection.exec("UPDATE notes SET note = $2 WHERE id = $1", {id, note}), false, at != model_.end());
  }
  bool remove(auto& connection, std::int64_t first, std::int64_t end) {
    const auto gone = std::erase_if(model_, [&](const auto& n) { return n.first >= first && n.first < end; });
    const auto said = connection.exec("DELETE FROM notes WHERE id >= $1 AND id < $2", {first, end});
    return agree(said, false, static_cast<std::int64_t>(gone));
  }
  bool bulk(auto& connection) {
    const Model before = model_;
    std::vector<Values> rows;
    bool conflict = false;
    for (auto left = dice_.between(0, 5); left > 0; --left) {
      rows.push_back({dice_.between(0, 40), any_note(dice_)});
      conflict = !model_.emplace(std::get<std::int64_t>(rows.back()[0]), rows.back()[1]).second || conflict;
    }
    if (conflict) model_ = before;
    static const std::vector<std::string> columns{"id", "note"};
    const auto said = connection.bulk_insert({"notes", columns, rows});
    return agree(said ? Result<std::int64_t>(0) : Failure(said.error()), conflict, 0);
  }
  bool look_up(auto& connection, std::int64_t id) {
    const auto at = model_.find(id);
    std::vector<Values> expected;
    if (at != model_.end()) expected.push_back({at->second});
    return agree(connection.query("SELECT note FROM notes WHERE id = $1", {id}), expected);
  }
  bool look_at_all(auto& connection) {
    std::vector<Values> expected;
    for (const auto& [id, note] : model_) expected.push_back({id, note});
    return agree(connection.query("SELECT id, note FROM notes ORDER BY id"), expected);
  }

  Dice& dice_;
  Model& model_;
};

/// Some steps in one transaction, which may fail by itself or by the will of its function.
void play_transaction(Dice& dice, Model& model, Database& db) {
  Model changed = model;
  Player player(dice, changed);
  const bool give_up = dice.percent(20);
  bool conflict = false;
  const auto done = db.transaction([&](Transaction& transaction) -> Result<void> {
    for (auto left = dice.between(0, 6); left > 0 && !conflict; --left) conflict = !player.play(transaction);
    if (give_up) return fail(Errc::denied, "gave up");
    return {};
  });
  EXPECT_EQ(done.has_value(), !give_up && !conflict);
  if (done) model = changed;
}

class ModelContract : public BothEngines {};

TEST_P(ModelContract, RandomOperationsGiveWhatAMapGives) {
  ASSERT_DONE(db_->exec("CREATE TABLE notes (id BIGINT PRIMARY KEY, note TEXT)"));
  Options options;
  options.statements_max = 4;
  FOR_SEEDS(25, [&](Dice& dice) {
    ASSERT_DONE(db_->exec("DELETE FROM notes"));
    Model model;
    Player player(dice, model);
    for (int step = 0; step < 40; ++step) {
      if (dice.percent(40)) {
        play_transaction(dice, model, *db_);
      } else {
        player.play(*db_);
      }
      if (dice.percent(3)) db_ = backend_.connect(options);
    }
  });
}

INSTANTIATE_FOR_BOTH_ENGINES(ModelContract);

}  // namespace
}  // namespace cadre::database
