// What an API server checks of an object before it keeps it, as far as the control plane can tell the
// difference.
#pragma once

#include <vector>

#include "api/metadata.h"
#include "api/object.h"
#include "api/pod_template.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

// The object as it reads, or kInvalid with the field. A job is held to its CRD's schema alone, so it may come
// out as Unreadable; the other kinds are Kubernetes' own, which takes nothing that it cannot read.
Result<Object> ValidateObject(Kind kind, const nlohmann::json& value);

// Of a pod that is made of it.
Result<void> ValidateTemplate(const PodTemplate& pod_template);

// metadata.ownerReferences, or kInvalid.
Result<std::vector<Owner>> ReadOwners(const nlohmann::json& metadata);

// Of what a patch would make out of a pod's spec: only images, the deadline and the tolerations may differ.
Result<void> ValidatePodSpecChange(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace adaptdl
