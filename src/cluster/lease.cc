#include "cluster/lease.h"

#include "base/overloaded.h"

namespace cadre::cluster::lease {
namespace {

Step stay(const State& state) { return {state, {}}; }

template <class Stage>
Step go(const State& state, Stage stage, std::vector<Effect> effects = {}) {
  return {{state.epoch, std::move(stage)}, std::move(effects)};
}

Step place(const State& state, const AgentId& agent) {
  const Held held{agent, Epoch{state.epoch.value + 1}};
  return {{held.epoch, Placed{held}}, {SendStart{held}}};
}

/// A process that runs without the right to.
Step kill_stale(const State& state, const Held& held) { return {state, {SendKill{held}}}; }

/// The agent of the current lease fell silent.
Step lose(const State& state, const Held& held, const AgentLost& news) {
  return news.agent == held.agent ? go(state, Queued{held}) : stay(state);
}

/// A stop explains every end but those in which something went wrong by itself.
Ending ending_of_stop(const Stopping& stopping, const Ending& ending) {
  const bool explained = ending.reason != Reason::out_of_memory && ending.reason != Reason::unresponsive &&
                         ending.reason != Reason::failed_to_start;
  return {explained ? stopping.why : ending.reason, ending.code};
}

/// Whether a task that is stopped for this is run again.
bool runs_again(Reason why) { return why == Reason::preempted || why == Reason::agent_lost; }

Step on_queued(const State& state, const Queued& queued, const Event& event) {
  return std::visit(
      overloaded{
          [&](const Place& news) { return place(state, news.agent); },
          [&](const Reported& news) {
            return queued.lost == news.held ? go(state, Running{news.held}) : kill_stale(state, news.held);
          },
          [&](const Started& news) {
            return queued.lost == news.held ? go(state, Running{news.held}) : kill_stale(state, news.held);
          },
          [&](const Exited& news) { return queued.lost == news.held ? go(state, Ended{news.ending}) : stay(state); },
          [&](const NotReported& news) { return queued.lost == news.held ? go(state, Queued{}) : stay(state); },
          [&](const Stop& news) {
            std::vector<Effect> effects;
            if (queued.lost) effects.push_back(SendKill{*queued.lost});
            return go(state, Ended{{news.why, 0}}, std::move(effects));
          },
          [&](const auto&) { return stay(state); },
      },
      event);
}

Step on_placed(const State& state, const Placed& placed, const Event& event) {
  const Held& held = placed.held;
  return std::visit(
      overloaded{
          [&](const Started& news) {
            return news.held == held ? go(state, Running{held}) : kill_stale(state, news.held);
          },
          [&](const Reported& news) {
            return news.held == held ? go(state, Running{held}) : kill_stale(state, news.held);
          },
          [&](const NotReported& news) {  // the order to start was lost on the way
            return news.held == held ? go(state, placed, {SendStart{held}}) : stay(state);
          },
          [&](const Exited& news) { return news.held == held ? go(state, Ended{news.ending}) : stay(state); },
          [&](const Stop& news) {
            return go(state, Stopping{held, news.why}, {SendStop{held, news.why}});
          },
          [&](const AgentLost& news) { return lose(state, held, news); },
          [&](const auto&) { return stay(state); },
      },
      event);
}

Step on_running(const State& state, const Running& running, const Event& event) {
  const Held& held = running.held;
  return std::visit(
      overloaded{
          [&](const Started& news) { return news.held == held ? stay(state) : kill_stale(state, news.held); },
          [&](const Reported& news) { return news.held == held ? stay(state) : kill_stale(state, news.held); },
          [&](const NotReported& news) {
            return news.held == held ? go(state, Ended{{Reason::agent_lost, 0}}) : stay(state);
          },
          [&](const Exited& news) { return news.held == held ? go(state, Ended{news.ending}) : stay(state); },
          [&](const Stop& news) {
            return go(state, Stopping{held, news.why}, {SendStop{held, news.why}});
          },
          [&](const AgentLost& news) { return lose(state, held, news); },
          [&](const auto&) { return stay(state); },
      },
      event);
}

Step on_stopping(const State& state, const Stopping& stopping, const Event& event) {
  const Held& held = stopping.held;
  const auto ended = [&](const Ending& ending) { return go(state, Ended{ending_of_stop(stopping, ending)}); };
  return std::visit(
      overloaded{
          [&](const Started& news) { return news.held == held ? stay(state) : kill_stale(state, news.held); },
          [&](const Reported& news) {  // it came back without having heard of the stop
            return news.held == held ? go(state, stopping, {SendStop{held, stopping.why}})
                                     : kill_stale(state, news.held);
          },
          [&](const NotReported& news) { return news.held == held ? ended({}) : stay(state); },
          [&](const Exited& news) { return news.held == held ? ended(news.ending) : stay(state); },
          [&](const Stop& news) {  // a user's stop outdoes those after which it would run again
            if (!runs_again(stopping.why) || runs_again(news.why)) return stay(state);
            return go(state, Stopping{held, news.why}, {SendStop{held, news.why}});
          },
          [&](const AgentLost& news) { return news.agent == held.agent ? ended({}) : stay(state); },
          [&](const auto&) { return stay(state); },
      },
      event);
}

Step on_ended(const State& state, const Event& event) {
  return std::visit(overloaded{
                        [&](const Again&) { return go(state, Queued{}); },
                        [&](const Started& news) { return kill_stale(state, news.held); },
                        [&](const Reported& news) { return kill_stale(state, news.held); },
                        [&](const auto&) { return stay(state); },
                    },
                    event);
}

}  // namespace

Step step(const State& state, const Event& event) {
  return std::visit(overloaded{
                        [&](const Queued& queued) { return on_queued(state, queued, event); },
                        [&](const Placed& placed) { return on_placed(state, placed, event); },
                        [&](const Running& running) { return on_running(state, running, event); },
                        [&](const Stopping& stopping) { return on_stopping(state, stopping, event); },
                        [&](const Ended&) { return on_ended(state, event); },
                    },
                    state.stage);
}

Stage stage_of(const State& state) {
  return std::visit(overloaded{
                        [](const Queued&) { return Stage::queued; },
                        [](const Placed&) { return Stage::placed; },
                        [](const Running&) { return Stage::running; },
                        [](const Stopping&) { return Stage::stopping; },
                        [](const Ended&) { return Stage::ended; },
                    },
                    state.stage);
}

std::optional<Held> current(const State& state) {
  return std::visit(overloaded{
                        [](const Placed& placed) { return std::optional(placed.held); },
                        [](const Running& running) { return std::optional(running.held); },
                        [](const Stopping& stopping) { return std::optional(stopping.held); },
                        [](const auto&) { return std::optional<Held>(); },
                    },
                    state.stage);
}

}  // namespace cadre::cluster::lease
