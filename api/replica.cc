#include "api/replica.h"

#include <charconv>

#include "api/object.h"

namespace adaptdl {

namespace {

constexpr const char* kJobLabel = "adaptdl/job";
constexpr const char* kReplicas = "adaptdl/replicas";
constexpr const char* kGroup = "adaptdl/group";
constexpr const char* kRank = "adaptdl/rank";
constexpr const char* kNode = "adaptdl/node";

// A number as std::to_string writes it, and as nobody else would.
std::optional<std::int64_t> Number(const Labels& annotations, const char* key) {
  const auto found = annotations.find(key);
  if (found == annotations.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::to_string(number) == text ? std::optional(number) : std::nullopt;
}

}  // namespace

Labels ReplicaLabels(const std::string& job) {
  return {{"adaptdl", "true"}, {kJobLabel, job}, {"petuum.com/nodegroup", "all"}};
}

Labels ReplicaAnnotations(const Replica& replica) {
  return {{kReplicas, std::to_string(replica.replicas)},
          {kGroup, std::to_string(replica.group)},
          {kRank, std::to_string(replica.rank)},
          {kNode, replica.node}};
}

std::optional<Replica> ReplicaOf(const Pod& pod) {
  const Labels& annotations = pod.metadata.annotations;
  const auto group = Number(annotations, kGroup);
  const auto rank = Number(annotations, kRank);
  const auto replicas = Number(annotations, kReplicas);
  const auto node = annotations.find(kNode);
  if (!group || !rank || !replicas || node == annotations.end() || node->second.empty()) return std::nullopt;
  if (*group < 0 || *rank < 0 || *rank >= *replicas) return std::nullopt;
  Replica replica;
  replica.group = *group;
  replica.rank = *rank;
  replica.replicas = *replicas;
  replica.node = node->second;
  return replica;
}

std::string JobOfPod(const Pod& pod) {
  const auto label = pod.metadata.labels.find(kJobLabel);
  return label == pod.metadata.labels.end() ? "" : label->second;
}

std::vector<std::string> JobsOfPod(const Pod& pod) {
  const std::string job = JobOfPod(pod);
  if (job.empty()) return {};
  return {ToString(Key{pod.metadata.name_space, job})};
}

}  // namespace adaptdl
