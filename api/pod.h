// A pod, as far as the control plane looks at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/container.h"
#include "api/metadata.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

class Reader;

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };

std::string_view ToString(PodPhase phase);

struct ContainerStatus {
  std::string name;
  bool ready = false;
  std::optional<std::int64_t> exit_code;  // Present once it has ended.
  std::string reason;                     // Why it ended, or what it waits for; empty where it runs.
  std::string message = {};               // The same in the words of its node.

  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};

struct Pod {
  Metadata metadata;
  std::string node_name;  // Empty until it is bound.
  std::vector<Container> containers;
  PodPhase phase = PodPhase::kPending;
  std::string reason;
  std::string message;
  std::string ip;  // Empty until it has one.
  std::vector<ContainerStatus> container_statuses;
  std::vector<ContainerStatus> init_container_statuses = {};
  std::string unschedulable = {};  // Why no node takes it; empty where that is not known to be so.

  friend bool operator==(const Pod&, const Pod&) = default;
};

// It runs no more, and never will again.
inline bool HasEnded(const Pod& pod) {
  return pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
}

// A phase that Kubernetes may add some day is kUnknown.
void Decode(const Reader& in, Pod* out);
nlohmann::json Encode(const Pod& pod);

Result<Pod> ParsePod(std::string_view text);

}  // namespace adaptdl
