#include "api/trim.h"

#include <string_view>

namespace adaptdl {

void KeepOwnMetadata(Pod* pod) {
  const auto foreign = [](const auto& entry) {
    const std::string_view key = entry.first;
    return key != "adaptdl" && !key.starts_with("adaptdl/") && !key.starts_with("petuum.com/");
  };
  std::erase_if(pod->metadata.labels, foreign);
  std::erase_if(pod->metadata.annotations, foreign);
}

}  // namespace adaptdl
