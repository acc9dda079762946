// A replica of a job: one pod of one group. How a pod says that it is one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/metadata.h"
#include "api/pod.h"

namespace adaptdl {

struct Replica {
  std::int64_t group = 0;
  std::int64_t rank = 0;
  std::int64_t replicas = 1;
  std::int64_t nodes = 1;  // Different ones in the group.
  std::string node;        // By its name,
  std::string hostname;    // and by its label kubernetes.io/hostname, to which the pod is pinned.
};

// The labels and annotations by which a pod is found, and says where it belongs.
Labels ReplicaLabels(const std::string& job);
Labels ReplicaAnnotations(const Replica& replica);

// Where a pod says that it belongs, by its annotations; nothing where it does not.
std::optional<Replica> ReplicaOf(const Pod& pod);

// Of which job a pod says it is; empty where of none.
std::string JobOfPod(const Pod& pod);
// The same as "namespace/name", as an index of pods.
std::vector<std::string> JobsOfPod(const Pod& pod);

}  // namespace adaptdl
