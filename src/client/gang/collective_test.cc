#include "client/gang/collective.h"

#include <gmock/gmock.h>

#include <cstring>
#include <deque>

#include "base/seeds.h"

namespace cadre::client {
namespace {

using Operation = Collective::Operation;
using testing::AllOf;
using testing::HasSubstr;

/// Ranks in one process; the messages between them are delivered in any order that connections allow.
struct Ranks {
  explicit Ranks(std::uint32_t count) : wires(count, std::vector<std::deque<Bytes>>(count)), memory(count) {
    std::vector<std::string> names;
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      names.push_back("rank " + std::to_string(rank) + " on agent " + std::string(1, static_cast<char>('a' + rank)));
    }
    for (std::uint32_t rank = 0; rank < count; ++rank) ranks.emplace_back(rank, names);
  }

  void begin(std::uint32_t rank, Collective::Call call) {
    ranks[rank].begin(call);
    take_from(rank);
  }
  void take_from(std::uint32_t rank) {
    for (const Collective::Outgoing& one : ranks[rank].take_outgoing()) {
      Bytes frame = one.head;
      frame.insert(frame.end(), one.body.begin(), one.body.end());
      wires[rank][one.to].push_back(std::move(frame));
    }
    for (const Bytes& news : ranks[rank].take_news()) {
      for (std::uint32_t to = 0; to < ranks.size(); ++to) {
        if (to != rank) wires[rank][to].push_back(news);
      }
    }
  }
  /// One message; false: there is none.
  bool deliver(Dice& dice) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> full;
    for (std::uint32_t from = 0; from < ranks.size(); ++from) {
      for (std::uint32_t to = 0; to < ranks.size(); ++to) {
        if (!wires[from][to].empty()) full.emplace_back(from, to);
      }
    }
    if (full.empty()) return false;
    const auto [from, to] = full[dice.below(full.size())];
    Bytes frame = std::move(wires[from][to].front());
    wires[from][to].pop_front();
    ranks[to].received(from, Slice(std::move(frame)));
    take_from(to);
    return true;
  }
  void deliver_all(Dice& dice) {
    while (deliver(dice)) continue;
  }

  std::vector<Collective> ranks;
  std::vector<std::vector<std::deque<Bytes>>> wires;
  std::vector<Bytes> memory;  ///< of the present call of each rank
};

Bytes random_bytes(Dice& dice, std::size_t size) {
  Bytes bytes(size);
  for (std::byte& one : bytes) one = static_cast<std::byte>(dice.bits());
  return bytes;
}

/// A call that all ranks make, with what each gives and what each must get.
struct Planned {
  Operation operation{};
  NumberKind kind = NumberKind::f32;
  Reduction how{};
  std::vector<Bytes> given;
  Bytes reduced;
};

Planned planned(Dice& dice, std::uint32_t ranks) {
  Planned plan;
  plan.operation = static_cast<Operation>(dice.below(4));
  if (plan.operation != Operation::allreduce) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      plan.given.push_back(random_bytes(dice, dice.percent(10) ? 1'500'000 : dice.below(300)));
    }
    return plan;
  }
  plan.how = dice.percent(50) ? Reduction::sum : Reduction::max;
  const std::size_t count = dice.percent(30) ? dice.below(600'000) : dice.below(5'000);
  std::vector<float> expected;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<float> numbers(count);
    for (float& number : numbers) number = static_cast<float>(dice.bits() % 2'000'000) * 1e-3F - 1e3F;
    if (rank == 0) {
      expected = numbers;
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        expected[i] = plan.how == Reduction::sum ? expected[i] + numbers[i] : std::max(expected[i], numbers[i]);
      }
    }
    const BytesView bytes = std::as_bytes(std::span(numbers));
    plan.given.emplace_back(bytes.begin(), bytes.end());
  }
  const BytesView bytes = std::as_bytes(std::span(expected));
  plan.reduced.assign(bytes.begin(), bytes.end());
  return plan;
}

void begin(Ranks& all, std::uint32_t rank, const Planned& plan) {
  all.memory[rank] = plan.given[rank];
  Collective::Call call{plan.operation, all.memory[rank], {}, plan.kind, plan.how};
  if (plan.operation == Operation::allreduce) call.bytes = {}, call.numbers = all.memory[rank];
  all.begin(rank, call);
}

void expect_result(Ranks& all, std::uint32_t rank, const Planned& plan) {
  ASSERT_FALSE(all.ranks[rank].failure()) << all.ranks[rank].failure()->message;
  const std::vector<Bytes> result = all.ranks[rank].end();
  switch (plan.operation) {
    case Operation::gather: ASSERT_TRUE(result == (rank == 0 ? plan.given : std::vector<Bytes>())); return;
    case Operation::allgather: ASSERT_TRUE(result == plan.given); return;
    case Operation::broadcast: ASSERT_TRUE(result == std::vector<Bytes>{plan.given[0]}); return;
    case Operation::allreduce: ASSERT_TRUE(all.memory[rank] == plan.reduced) << rank; return;
  }
}

TEST(Collective, EveryRankGetsTheRightResultInAnyOrderOfMessages) {
  FOR_SEEDS(150, [](Dice& dice) {
    const auto count = static_cast<std::uint32_t>(dice.between(2, 7));
    Ranks all(count);
    std::vector<Planned> plans;
    for (int i = 0; i < 4; ++i) plans.push_back(planned(dice, count));
    std::vector<std::size_t> next(count, 0);  // of each rank
    std::vector<std::uint32_t> idle;
    for (std::uint32_t rank = 0; rank < count; ++rank) idle.push_back(rank);
    for (;;) {
      if (!idle.empty() && dice.percent(20)) {
        const std::size_t at = dice.below(idle.size());
        const std::uint32_t rank = idle[at];
        idle.erase(idle.begin() + static_cast<std::ptrdiff_t>(at));
        begin(all, rank, plans[next[rank]]);
      } else if (!all.deliver(dice) && idle.empty()) {
        break;
      }
      for (std::uint32_t rank = 0; rank < count; ++rank) {
        const bool is_busy = next[rank] < plans.size() && all.ranks[rank].is_complete();
        if (!is_busy) continue;
        // No call ends before all ranks have made it.
        for (std::uint32_t other = 0; other < count; ++other) {
          const bool has_begun = next[other] > next[rank] || (next[other] == next[rank] &&
                                                              std::find(idle.begin(), idle.end(), other) == idle.end());
          ASSERT_TRUE(has_begun) << "rank " << rank << " did not wait for rank " << other;
        }
        expect_result(all, rank, plans[next[rank]]);
        if (testing::Test::HasFatalFailure()) return;
        if (++next[rank] < plans.size()) idle.push_back(rank);
      }
    }
    EXPECT_EQ(next, std::vector<std::size_t>(count, plans.size()));
  });
}

TEST(Collective, NamesTheRankWhoseCallDiffers) {
  FOR_SEEDS(300, [](Dice& dice) {
    const auto count = static_cast<std::uint32_t>(dice.between(2, 6));
    Ranks all(count);
    const Planned plan = planned(dice, count);
    Planned other = planned(dice, count);
    while (other.operation == plan.operation) other = planned(dice, count);
    const auto odd = static_cast<std::uint32_t>(dice.below(count));
    for (std::uint32_t rank = 0; rank < count; ++rank) begin(all, rank, rank == odd ? other : plan);
    all.deliver_all(dice);
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      ASSERT_TRUE(all.ranks[rank].failure()) << "rank " << rank << " waits for ever";
      EXPECT_EQ(all.ranks[rank].failure()->code, Errc::conflict);
      EXPECT_THAT(all.ranks[rank].failure()->message, AllOf(HasSubstr("the calls of the ranks differ: call 1 is "),
                                                            HasSubstr("rank " + std::to_string(odd) + " on agent "),
                                                            HasSubstr("the same calls in the same order")));
    }
  });
}

TEST(Collective, NamesShapesAndKindsThatDiffer) {
  Dice dice(1);
  Ranks all(2);
  std::vector<float> floats(40);
  std::vector<double> doubles(41);
  all.begin(0, {Operation::allreduce, {}, std::as_writable_bytes(std::span(floats)), NumberKind::f32, Reduction::sum});
  all.begin(1,
            {Operation::allreduce, {}, std::as_writable_bytes(std::span(doubles)), NumberKind::f64, Reduction::mean});
  all.deliver_all(dice);
  for (const Collective& rank : all.ranks) {
    EXPECT_THAT(rank.failure().value().message,
                AllOf(HasSubstr("allreduce (sum of 40 float32) on rank 0 on agent a"),
                      HasSubstr("allreduce (mean of 41 float64) on rank 1 on agent b")));
  }
}

TEST(Collective, AllRanksNameTheOneThatIsLost) {
  FOR_SEEDS(300, [](Dice& dice) {
    const auto count = static_cast<std::uint32_t>(dice.between(2, 6));
    Ranks all(count);
    const Planned plan = planned(dice, count);
    const auto dead = static_cast<std::uint32_t>(dice.below(count));
    const bool has_begun = dice.percent(50);
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      if (rank != dead || has_begun) begin(all, rank, plan);
    }
    for (std::size_t left = dice.below(20); left > 0 && all.deliver(dice); --left) continue;
    for (auto& wire : all.wires[dead]) wire.clear();
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      const bool is_connected = rank != dead && (rank == 0 || dead == 0);
      if (!is_connected) continue;
      all.ranks[rank].lost(dead, "the connection to it was closed");
      all.take_from(rank);
    }
    all.deliver_all(dice);
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      if (rank == dead) continue;
      ASSERT_TRUE(all.ranks[rank].failure());
      EXPECT_EQ(all.ranks[rank].failure()->code, Errc::unavailable);
      const std::string name = "rank " + std::to_string(dead) + " on agent " + static_cast<char>('a' + dead);
      EXPECT_EQ(all.ranks[rank].failure()->message, name + " was lost: the connection to it was closed");
    }
  });
}

TEST(Collective, ARankThatHasEndedIsMissedOnlyByLaterCalls) {
  Dice dice(1);
  Ranks all(3);
  Planned plan;
  plan.operation = Operation::allgather;
  plan.given.assign(3, Bytes(8));
  for (std::uint32_t rank = 0; rank < 3; ++rank) begin(all, rank, plan);
  while (!all.ranks[2].is_complete()) ASSERT_TRUE(all.deliver(dice));
  static_cast<void>(all.ranks[2].end());
  all.ranks[2].leave();
  all.take_from(2);
  all.deliver_all(dice);
  all.ranks[0].lost(2, "the connection to it was closed");  // as it must be
  for (std::uint32_t rank = 0; rank < 2; ++rank) expect_result(all, rank, plan);
  begin(all, 0, plan);
  EXPECT_EQ(all.ranks[0].failure().value().message, "rank 2 on agent c has ended before allgather or barrier");
  all.deliver_all(dice);
  EXPECT_EQ(all.ranks[1].failure().value().message, "rank 2 on agent c has ended before allgather or barrier");
}

TEST(Collective, MalformedMessagesFailWithTheNameOfTheirSender) {
  FOR_SEEDS(2'000, [](Dice& dice) {
    Ranks all(3);
    const Planned plan = planned(dice, 3);
    begin(all, 0, plan);
    begin(all, 1, plan);
    // What rank 1 says, with some of it changed, or cut off, or nonsense.
    Bytes frame = all.wires[1][0].empty() ? random_bytes(dice, dice.below(100)) : all.wires[1][0].front();
    const bool is_cut = dice.percent(30);
    if (is_cut) frame.resize(dice.below(frame.size() + 1));
    for (std::size_t i = dice.below(4); i > 0 && !frame.empty(); --i) {
      frame[dice.below(std::min<std::size_t>(frame.size(), 40))] = static_cast<std::byte>(dice.bits());
    }
    all.ranks[0].received(1, Slice(frame));
    all.ranks[0].received(1, Slice(frame));
    all.take_from(0);
    all.deliver_all(dice);  // nothing is read or written outside of anything (make asan)
  });
  Ranks all(2);
  Bytes memory(8);
  all.begin(0, {Operation::allgather, memory});
  all.ranks[0].received(1, Slice(Bytes(5)));
  EXPECT_EQ(all.ranks[0].failure().value().message, "rank 1 on agent b sent a malformed message");
}

}  // namespace
}  // namespace cadre::client
