// What a job and its pods tell about one group of replicas. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/pod.h"

namespace adaptdl {

struct GroupView {
  enum class State {
    kForming,   // Some replica has no address yet, or nothing at all is known of the group.
    kComplete,  // Each has one.
    kOver,      // Another group has taken its place, or the job has ended or goes.
  };

  State state = State::kForming;
  std::vector<std::string> addresses = {};  // Of a complete one, in the order of ranks.
  std::string why = {};                     // Of any other: what is missing, for people.
};

// `job` is null where there is none. `pods` are those that say they are of this job: what another one
// controls, or nobody, does not count. Neither does a pod that has ended or goes where there is another one
// of its rank.
GroupView LookAtGroup(const Job* job, const std::vector<const Pod*>& pods, std::int64_t group);

// Why this group has to end, or has ended, as far as is known by now: in one word, such as Reallocated.
// Nothing as long as it goes on. What the operator will decide from the same facts.
std::optional<std::string> WhyGroupEnds(const Job& job, const std::vector<const Pod*>& pods,
                                        std::int64_t group);

}  // namespace adaptdl
