#include "tests/wire/kinds.h"

#include "api/problem.h"
#include "cli/launch/nodes.h"
#include "client/actors/actor_card.h"
#include "client/cluster/which_master.h"
#include "client/gang/meeting.h"
#include "cluster/bulk.h"
#include "cluster/data_folder.h"
#include "cluster/ending.h"
#include "cluster/joining.h"
#include "cluster/messages.h"
#include "remote/frame.h"

namespace cadre::wire {

using describe::Value;
namespace messages = cluster::messages;
namespace supervision = cluster::supervision;

testing::AssertionResult keeps(const Value& old, const Value& now, const std::string& path) {
  const auto* map = old.as<Value::Map>();
  const auto* list = old.as<Value::List>();
  if (map != nullptr) {
    for (const describe::Entry& entry : *map) {
      const Value* value = now.find(entry.key);
      if (value == nullptr) return testing::AssertionFailure() << path << "." << entry.key << " is lost";
      if (auto inside = keeps(entry.value, *value, path + "." + entry.key); !inside) return inside;
    }
    return testing::AssertionSuccess();
  }
  if (list != nullptr) {
    const auto* items = now.as<Value::List>();
    if (items == nullptr || items->size() != list->size()) return testing::AssertionFailure() << path << " differs";
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (auto inside = keeps((*list)[i], (*items)[i], path + "[]"); !inside) return inside;
    }
    return testing::AssertionSuccess();
  }
  return old == now ? testing::AssertionSuccess() : testing::AssertionFailure() << path << " differs";
}

Kinds all_kinds() {
  Kinds kinds;
  add_each(kinds, "agent_to_master", std::type_identity<decltype(messages::FromAgent::body)>{});
  add_each(kinds, "master_to_agent", std::type_identity<messages::MasterMessage>{});
  add<messages::FromAgent>(kinds, "envelope_to_master");
  add<messages::FromMaster>(kinds, "envelope_to_agent");
  add_each(kinds, "bulk_to_master", std::type_identity<cluster::bulk::ToMaster>{});
  add_each(kinds, "bulk_to_agent", std::type_identity<cluster::bulk::FromMaster>{});
  add<cluster::joining::Ticket>(kinds, "join_ticket");
  add<cluster::joining::Join>(kinds, "join");
  add_each(kinds, "join_answer", std::type_identity<cluster::joining::Answer>{});
  add<supervision::Launch>(kinds, "launch_file");
  add<cluster::TaskEnding>(kinds, "ending_file");
  add_each(kinds, "agent_to_supervisor", std::type_identity<supervision::FromAgent>{});
  add_each(kinds, "supervisor_to_agent", std::type_identity<supervision::FromSupervisor>{});
  add_each(kinds, "task_to_supervisor", std::type_identity<supervision::FromTask>{});
  add_each(kinds, "supervisor_to_task", std::type_identity<supervision::ToTask>{});
  add<remote::Hello>(kinds, "component_hello");
  add<remote::Welcome>(kinds, "component_welcome");
  add<remote::Card>(kinds, "component_card");
  add<client::ActorCard>(kinds, "actor_card");
  add<client::GangCard>(kinds, "gang_card");
  add<client::MeetingNews>(kinds, "meeting_news");
  add<cli::LaunchNote>(kinds, "launch_note");
  add<cluster::KnownMaster>(kinds, "client_file");
  add<client::Logins>(kinds, "logins_file");
  add<api::Problem>(kinds, "problem");
  add_requests(kinds);
  add_frames(kinds);
  return kinds;
}

}  // namespace cadre::wire
