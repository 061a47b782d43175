/// What agents, clients and the master say, in a line each, for transcripts that people read. Safe on any thread.
#pragma once

#include <string>

#include "base/overloaded.h"
#include "cluster/control/control.h"
#include "describe/describe.h"

namespace cadre::cluster::control {

inline access::Principal an_admin() { return {"admin", true, {}, "t1", ""}; }

template <class Enum>
std::string name_of(Enum value) {
  for (const auto& [each, name] : enum_names(Enum{})) {
    if (each == value) return name;
  }
  return "?";
}

template <class List>
std::string in_words(const List& list) {
  std::string text;
  for (const auto& one : list) {
    if constexpr (requires { to_string(one); }) {
      text += (text.empty() ? "" : ", ") + to_string(one);
    } else {
      text += (text.empty() ? "" : ", ") + std::to_string(one);
    }
  }
  return text.empty() ? "nothing" : text;
}

inline std::string in_words(const TaskEnding& ending) {
  return name_of(ending.reason) + " " + std::to_string(ending.code);
}

inline std::string in_words(const messages::FromAgent& message) {
  return std::visit(
      overloaded{
          [](const messages::Hello& one) {
            return "hello of " + one.agent.id.value + " with " + std::to_string(one.agent.slots) + " slots, runs " +
                   in_words(one.leases);
          },
          [](const messages::Beat&) { return std::string("beat"); },
          [](const messages::Started& one) { return "started " + to_string(one.lease); },
          [](const messages::Exited& one) { return "exited " + to_string(one.lease) + ": " + in_words(one.ending); },
          [](const messages::Report& one) {
            return (one.is_announcement ? "announcement of " : "report of ") + to_string(one.lease) + ": " + one.body;
          },
          [](const messages::ExecNews& one) {
            const bool ended = std::holds_alternative<supervision::ExecEnded>(one.news);
            return std::string("exec: ") + (ended ? "ended" : "output");
          },
          [](const messages::Goodbye& one) { return std::string(one.last ? "goodbye" : "is about to stop"); },
          [](const messages::InputTaken& one) {
            return "input of " + to_string(one.lease) + " taken up to " + std::to_string(one.taken.offset);
          },
      },
      message.body);
}

inline std::string in_words(const messages::FromMaster& message) {
  return std::visit(
      overloaded{
          [](const messages::Welcome& one) { return "welcome, keep " + in_words(one.keep); },
          [](const messages::Refused& one) { return "refused: " + one.why; },
          [](const messages::HelloAgain&) { return std::string("say hello again"); },
          [](const messages::MasterBeat&) { return std::string("beat"); },
          [](const messages::Start& one) {
            return "start " + to_string(one.lease) + ", " + one.role + " " + std::to_string(one.role_rank) + ", rank " +
                   std::to_string(one.rank) + " of " + std::to_string(one.size) + ", slots " + in_words(one.slots);
          },
          [](const messages::Stop& one) {
            return "stop " + to_string(one.lease) + ": " + name_of(one.why) + ", grace " + cadre::to_string(one.grace);
          },
          [](const messages::EndStored& one) { return "end stored " + to_string(one.lease); },
          [](const messages::ReportAnswer& one) {
            return "report of " + to_string(one.lease) + (one.answer.accepted ? " accepted" : " refused");
          },
          [](const messages::Exec& one) { return "exec in " + to_string(one.lease) + ": " + one.exec.argv.front(); },
          [](const messages::ExecCancel& one) { return "cancel an exec in " + to_string(one.lease); },
          [](const messages::ExecInput& one) {
            return "input for " + to_string(one.lease) + ": " + std::string(as_text(one.input.bytes));
          },
      },
      message.body);
}

inline std::string in_words(const requests::JobView& job) {
  std::string text = "job " + std::to_string(job.id.value) + " " + name_of(job.stage);
  if (job.stage == JobStage::ended) text += ", " + name_of(*job.reason) + " " + std::to_string(*job.code);
  return text;
}

/// Of these types, the one that the reply has, in the words of `words`.
template <class... Ts>
std::string in_words_of(const api::Reply& reply, const auto& words) {
  std::string text = "an answer of an unknown type";
  const auto take = [&](const auto* one) {
    if (one != nullptr) text = words(*one);
  };
  (take(reply.as<Ts>()), ...);
  return text;
}

inline std::string in_words(const api::Reply& reply) {
  using namespace requests;
  return in_words_of<Done, Failed, Text, JobView, cluster::requests::Jobs, TaskView, cluster::requests::Tasks, Actors,
                     cluster::requests::Sessions, SessionNews, AgentView, cluster::requests::Agents, Slots,
                     cluster::requests::Pools, Status, InputState, messages::ExecNews>(
      reply, overloaded{
                 [](const requests::Done&) { return std::string("done"); },
                 [](const requests::Failed& one) {
                   std::string text = name_of(one.code) + ": " + one.message;
                   for (const requests::Fault& fault : one.faults) text += "; " + fault.path + " " + fault.message;
                   return text;
                 },
                 [](const requests::Text& one) { return one.text; },
                 [](const requests::JobView& one) { return in_words(one); },
                 [](const requests::Jobs& one) { return std::to_string(one.jobs.size()) + " jobs"; },
                 [](const requests::TaskView& one) { return "task " + to_string(one.id) + " " + name_of(one.stage); },
                 [](const requests::Tasks& one) { return std::to_string(one.tasks.size()) + " tasks"; },
                 [](const requests::Actors& one) { return std::to_string(one.actors.size()) + " actors"; },
                 [](const requests::Sessions& one) { return std::to_string(one.sessions.size()) + " sessions"; },
                 [](const requests::SessionNews& one) {
                   std::string text;
                   for (const requests::JobView& job : one.jobs) text += "; " + in_words(job);
                   return "news" + (text.empty() ? ": nothing" : ":" + text.substr(1));
                 },
                 [](const requests::AgentView& one) { return "agent " + one.id.value + " " + one.state; },
                 [](const requests::Agents& one) { return std::to_string(one.agents.size()) + " agents"; },
                 [](const requests::Slots& one) { return std::to_string(one.slots.size()) + " slots"; },
                 [](const requests::Pools& one) { return std::to_string(one.pools.size()) + " pools"; },
                 [](const requests::Status& one) { return describe::write_json(one); },
                 [](const requests::InputState& one) { return "input taken up to " + std::to_string(one.offset); },
                 [](const messages::ExecNews& one) {
                   const auto* ended = std::get_if<supervision::ExecEnded>(&one.news);
                   if (ended == nullptr) return std::string("exec wrote something");
                   return "exec ended: " + (ended->error.empty() ? std::to_string(ended->code) : ended->error);
                 },
             });
}

}  // namespace cadre::cluster::control
