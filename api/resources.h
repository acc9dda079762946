// Arithmetic on what pods take and nodes have.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/container.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/quantity.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

// Amounts in the smallest unit of each resource: thousandths of a cpu, and whole units of everything else.
using Resources = std::map<std::string, std::int64_t>;

// Rounded up to that unit (away from zero).
Result<std::int64_t> Discretize(std::string_view resource, const Quantity& quantity);

// What a pod with these containers takes: cpu, memory and ephemeral-storage, which a node can promise twice,
// count by their requests, all else by its limits, and the pod itself is one of "pods". Only positive
// amounts.
Result<Resources> PodRequests(const std::vector<Container>& containers);

// What the pods bound to that node that have not ended leave of its allocatable resources. Only positive
// amounts.
Result<Resources> NodeUnrequested(const Node& node, const std::vector<Pod>& pods);

// The pod spec in which the first container has the `requests` and `limits` of `defaults` wherever it does
// not give that key itself. Defaults that are null change nothing, and so does a null among the two.
Result<nlohmann::json> SetDefaultResources(nlohmann::json pod_spec, const nlohmann::json& defaults);

}  // namespace adaptdl
