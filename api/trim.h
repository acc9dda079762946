// For caches that keep many objects: drops what the control plane never looks at.
#pragma once

#include "api/pod.h"

namespace adaptdl {

// Leaves of labels and annotations only those of the control plane's own.
void KeepOwnMetadata(Pod* pod);

}  // namespace adaptdl
