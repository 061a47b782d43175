/// What became of a job, in words, and what is kept of its earlier runs. Pure; one thread at a time.
#pragma once

#include <string>

#include "cluster/control/ledger.h"

namespace cadre::cluster::control {

/// Why and how an ended job ended, for people: who stopped it, which of its tasks failed, what each used.
std::string ending_in_words(const Job& job);

/// `run 1 on blue ended after 3 min: preempted for job 12 (priority 10)`
std::string attempt_in_words(const Attempt& attempt);

/// The run that is over is kept among the attempts of the job, which waits again.
void note_attempt(Job& job, TimePoint now);

}  // namespace cadre::cluster::control
