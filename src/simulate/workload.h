/// A mixed load drawn from a seed: small trials, wide training runs, pipelines of several roles, tasks without slots.
/// Pure; safe on any thread.
#pragma once

#include <vector>

#include "base/time.h"
#include "plan/gang.h"
#include "simulate/options.h"

namespace cadre::simulate {

struct Job {
  plan::Gang gang;
  Duration arrives{};           ///< after the beginning
  Duration work{};              ///< how long it has to run in all
  Duration checkpoint_every{};  ///< work since the last multiple of this is lost with its host
};

/// In the order of arrival. By day more arrives than by night.
std::vector<Job> make_workload(const Options& options);

/// Users, some of whom may hold only so many slots.
plan::Groups make_groups(const Options& options);

}  // namespace cadre::simulate
