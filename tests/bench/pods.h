// Pods as a cluster has them, for measurements.
#pragma once

#include <string>

namespace adaptdl {

// What a user of the control plane would create: labels, annotations, environment, volumes. About 2 KB.
std::string PodJson(const std::string& name_space, int number);

}  // namespace adaptdl
