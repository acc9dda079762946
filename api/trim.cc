#include "api/trim.h"

#include <string_view>

namespace adaptdl {

void Trim(Pod* pod) {
  const auto foreign = [](const auto& entry) {
    const std::string_view key = entry.first;
    return key != "adaptdl" && !key.starts_with("adaptdl/") && !key.starts_with("petuum.com/");
  };
  std::erase_if(pod->metadata.labels, foreign);
  std::erase_if(pod->metadata.annotations, foreign);
  const auto by_request = [](const auto& entry) {
    return entry.first == "cpu" || entry.first == "memory" || entry.first == "ephemeral-storage";
  };
  for (Container& container : pod->containers) {
    std::erase_if(container.requests, [&](const auto& entry) { return !by_request(entry); });
    std::erase_if(container.limits, by_request);
  }
}

}  // namespace adaptdl
