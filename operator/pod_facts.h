// What the state of a pod means for its job. Pure functions of one pod.
#pragma once

#include <optional>
#include <string>

#include "api/pod.h"

namespace adaptdl {

bool IsReady(const Pod& pod);  // All of its containers are.

// Somebody else's doing took it, or will take it, from the job: it is being deleted, its node does not
// answer, it was evicted or shut down. In one word; nothing where all is well with it.
std::optional<std::string> WhyLost(const Pod& pod);

// It failed, but that is part of being moved around: it was told to stop, or its node did not take it in.
bool WasPreempted(const Pod& pod);

// "exit code 1 in container main (Error): ...", for a pod that failed.
std::string HowItFailed(const Pod& pod);

// What keeps it from starting, in its node's or the cluster's words.
struct Blockage {
  std::string reason;   // One word, such as ImagePullBackOff.
  std::string message;  // May be empty.

  friend bool operator==(const Blockage&, const Blockage&) = default;
};
std::optional<Blockage> WhyBlocked(const Pod& pod);

}  // namespace adaptdl
