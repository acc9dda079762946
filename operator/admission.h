// The admission webhook: whether an AdaptDLJob may be created or changed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/pod_template.h"
#include "cluster/cluster.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/http.h"
#include "runtime/log.h"
#include "runtime/metrics.h"

namespace adaptdl {

// `POST /validate`. To be called on the clock's thread (see OnClock); `cluster` outlives it. Whatever it
// cannot understand, or cannot find out in time, it refuses.
HttpHandler AdmissionHandler(Clock& clock, Cluster& cluster, Logger log, Counter reviews = {});

}  // namespace adaptdl
