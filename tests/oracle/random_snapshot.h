/// Small clusters at random, for properties that are checked by brute force. For tests; one thread.
#pragma once

#include <cstdint>

#include "base/dice.h"
#include "plan/planner.h"

namespace cadre::oracle {

enum class PolicyKind : std::uint8_t { priority, fair_share };

plan::Policy random_policy(Dice& dice, PolicyKind kind);
plan::Groups random_groups(Dice& dice);
/// Limits for some of the accounts that random gangs have, and slots that are held elsewhere.
plan::Accounts random_accounts(Dice& dice);
/// Such an account.
plan::AccountId any_account(Dice& dice);
plan::GroupId any_group(Dice& dice);
/// Agents that resemble each other often enough for equal divisions to be possible.
std::vector<plan::Agent> random_agents(Dice& dice);
/// An agent with that name, like those of a mixed cluster.
plan::Agent random_agent(Dice& dice, const std::string& name, std::int32_t usual_slots);
/// A divisible gang with that name.
plan::Gang random_gang(Dice& dice, const std::string& name, const std::vector<plan::Agent>& agents);
/// Wishes of one to three roles, some of them elastic.
plan::Roles random_roles(Dice& dice);

/// Never has more running on an agent than it offers; otherwise anything goes.
plan::Snapshot random_snapshot(Dice& dice, PolicyKind kind);

/// For messages of failed tests.
std::string to_string(const plan::Snapshot& snapshot);
std::string to_string(const plan::Plan& plan);

}  // namespace cadre::oracle
