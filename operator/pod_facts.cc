#include "operator/pod_facts.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace adaptdl {

namespace {

constexpr int kTerminated = 143;  // 128 + SIGTERM: what a replica ends with that was told to stop.

// Why a pod fails that did nothing wrong: see the kubelet's eviction, shutdown and admission.
constexpr std::array<std::string_view, 7> kDisruptions = {
    "Evicted", "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity", "Preempting"};

// What a container waits for while all goes well.
constexpr std::array<std::string_view, 3> kOrdinaryWaits = {"", "ContainerCreating", "PodInitializing"};

template <typename List>
bool Contains(const List& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::string Described(const ContainerStatus& container) {
  std::string text = "exit code " + std::to_string(*container.exit_code) + " in container " + container.name;
  if (!container.reason.empty() && container.reason != "Error") text += " (" + container.reason + ")";
  if (!container.message.empty()) text += ": " + container.message;
  return text;
}

}  // namespace

bool IsReady(const Pod& pod) {
  const auto& all = pod.container_statuses;
  return pod.phase == PodPhase::kRunning && !all.empty() &&
         std::all_of(all.begin(), all.end(), [](const ContainerStatus& one) { return one.ready; });
}

std::optional<std::string> WhyLost(const Pod& pod) {
  if (pod.phase == PodPhase::kFailed && Contains(kDisruptions, pod.reason)) return pod.reason;
  if (pod.phase != PodPhase::kSucceeded && pod.metadata.deletion_timestamp) return "PodDeleted";
  if (pod.phase == PodPhase::kUnknown) return "PodUnknown";
  return std::nullopt;
}

bool WasPreempted(const Pod& pod) {
  if (pod.phase != PodPhase::kFailed) return false;
  const auto& all = pod.container_statuses;
  return pod.reason == "UnexpectedAdmissionError" || pod.reason.starts_with("Outof") ||
         pod.reason.starts_with("OutOf") ||
         std::any_of(all.begin(), all.end(),
                     [](const ContainerStatus& one) { return one.exit_code == kTerminated; });
}

std::string HowItFailed(const Pod& pod) {
  for (const auto* list : {&pod.init_container_statuses, &pod.container_statuses}) {
    const auto failed = std::find_if(list->begin(), list->end(), [](const ContainerStatus& one) {
      return one.exit_code.value_or(0) != 0;
    });
    if (failed != list->end()) return Described(*failed);
  }
  std::string text = pod.reason.empty() ? "failed" : pod.reason;
  if (!pod.message.empty()) text += ": " + pod.message;
  return text;
}

std::optional<Blockage> WhyBlocked(const Pod& pod) {
  if (pod.phase != PodPhase::kPending) return std::nullopt;
  if (!pod.unschedulable.empty()) return Blockage{"Unschedulable", pod.unschedulable};
  for (const auto* list : {&pod.init_container_statuses, &pod.container_statuses}) {
    for (const ContainerStatus& one : *list) {
      if (one.exit_code || Contains(kOrdinaryWaits, one.reason)) continue;
      // The kubelet says the one and the other in turns.
      const bool image = one.reason == "ErrImagePull";
      return Blockage{image ? "ImagePullBackOff" : one.reason, one.message};
    }
  }
  return std::nullopt;
}

}  // namespace adaptdl
