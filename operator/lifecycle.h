// The life of a job, as one pure function: what is known about it and the date go in, what is to be done
// comes out. It has no clock and does no I/O; anything it asks for may be lost, or done twice.
//
//   Pending -> Starting -> Running -> Stopping -> (Pending or the next Starting) ... -> Succeeded or Failed
//
// Two groups of a job never run at the same time. What that rests on:
// - A group begins with a write of the status, under the version that was looked at. Only the process that
//   made this write creates the group's pods, each once, and none after it wrote anything else.
// - Stopping ends when every pod of the group is known to be gone: because it was seen before and is seen no
//   more (a cache does not go back), or because the server itself says so. A cache that has not shown a pod
//   yet proves nothing.
// - A view that is older than what its pods show is not acted on.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/object.h"
#include "api/pod.h"
#include "operator/pod_builder.h"
#include "operator/pod_facts.h"

namespace adaptdl {

// What this process knows about the pods of a group beyond what its caches show. Empty after a start, and
// whenever somebody else may have acted in between.
struct GroupMemory {
  std::int64_t group = -1;
  bool begun = false;                // By this process: it alone creates the pods.
  std::set<std::int64_t> seen = {};  // Ranks whose pods were in the cache.
  std::set<std::int64_t> gone = {};  // Ranks of which the server said that there is no pod.
  // When the server was last asked for the pod: to make it, or whether it is there.
  std::map<std::int64_t, Time> asked = {};
  // When the server was last asked to delete a pod that is in view, by its uid.
  std::map<std::string, Time> removed = {};
  // What keeps a pod from starting, as events about it tell, and when somebody last asked for those.
  std::map<std::int64_t, Blockage> told = {};
  std::optional<Time> inquired = {};
  // Why the server does not take a pod of this group, and whether it never will.
  std::string refused = {};
  bool refused_for_good = false;

  friend bool operator==(const GroupMemory&, const GroupMemory&) = default;
};

struct JobView {
  const Job& job;
  std::vector<const Pod*> pods;  // All that this very job controls, of whatever group.
  // The label kubernetes.io/hostname of the nodes there are among those of the allocation.
  std::map<std::string, std::string> hostnames;
  GroupMemory memory;  // Of the group in the job's status, with all of `pods` among those seen.
};

// Something to tell people.
struct JobEvent {
  bool warning = false;
  std::string reason;
  std::string message;

  friend bool operator==(const JobEvent&, const JobEvent&) = default;
};

struct PodDeletion {
  std::string name;
  std::string uid;  // Empty where it was not seen: then by its name, to learn whether it is there.
  std::int64_t rank = -1;

  friend bool operator==(const PodDeletion&, const PodDeletion&) = default;
};

// A pod that does not start, and does not say why.
struct Inquiry {
  std::int64_t rank = 0;
  std::string uid;

  friend bool operator==(const Inquiry&, const Inquiry&) = default;
};

// Either the status changes, and what follows from that is decided when it has; or some of the rest is done.
struct Decision {
  JobStatus status;                   // As it should be.
  std::vector<JobEvent> events = {};  // Told before that is written.

  std::vector<Replica> create = {};
  std::vector<PodDeletion> remove = {};
  std::vector<std::int64_t> look_for = {};  // Ranks: ask the server whether the group has a pod of that rank.
  std::optional<Inquiry> inquire = {};      // Read the events about this pod.
  bool delete_job = false;

  std::optional<std::chrono::seconds> again_after = {};  // Look again then, even if nothing changes.
};

Decision Decide(const JobView& view, Time now);

}  // namespace adaptdl
