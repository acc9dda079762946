// For caches that keep many objects: drops what the control plane never looks at.
#pragma once

#include "api/pod.h"

namespace adaptdl {

// Leaves the labels and annotations of the control plane's own, and of requests and limits those that count
// (see PodRequests, whose answer stays the same).
void Trim(Pod* pod);

}  // namespace adaptdl
