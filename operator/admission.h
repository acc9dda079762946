// The admission webhook: whether an AdaptDLJob may be created or changed.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "api/admission_review.h"
#include "api/pod_template.h"
#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "runtime/http.h"
#include "runtime/log.h"
#include "runtime/metrics.h"
#include "runtime/result.h"

namespace adaptdl {

// The decision as far as the request tells. Where a template is still to be checked, it is an answer for the
// case that the server would take a pod of it.
struct Verdict {
  AdmissionAnswer answer;
  std::optional<PodTemplate> unchecked = {};
};

Verdict Judge(const AdmissionRequest& request);

// The decision, with what Cluster::CheckTemplate has said. What could not be found out is refused.
AdmissionAnswer AfterCheck(AdmissionAnswer answer, const Result<void>& checked);

// What a server should take for the handler (see HttpServerOptions): an update brings an object twice, and
// the API server takes objects of 3 MiB.
inline constexpr std::size_t kMaxReviewBytes = std::size_t{8} << 20U;

// `POST /validate`. To be called on the clock's thread (see OnClock); clock and cluster outlive it. Whatever
// it cannot understand, or cannot find out until `deadline`, it refuses; the API server, which asks, must
// wait for longer than that. `reviews` counts by result: allowed, denied, failed.
HttpHandler AdmissionHandler(Clock& clock, Cluster& cluster, Logger log, Counter reviews = {},
                             Duration deadline = std::chrono::seconds(8));

}  // namespace adaptdl
