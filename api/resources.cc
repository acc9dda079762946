#include "api/resources.h"

#include <array>
#include <utility>

#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

bool IsOvercommittable(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage";
}

Result<void> Add(std::string_view resource, const Quantity& quantity, Resources* sum) {
  const Result<std::int64_t> amount = Discretize(resource, quantity);
  if (!amount) return tl::unexpected<Error>(amount.error());
  std::int64_t& total = (*sum)[std::string(resource)];
  if (__builtin_add_overflow(total, *amount, &total)) {
    return Invalid(Printable(resource) + ": the sum is beyond 2^63 - 1");
  }
  return {};
}

Resources Positive(Resources resources) {
  std::erase_if(resources, [](const auto& entry) { return entry.second <= 0; });
  return resources;
}

}  // namespace

Result<std::int64_t> Discretize(std::string_view resource, const Quantity& quantity) {
  if (resource != "cpu") return quantity.Units();
  return quantity.MilliUnits().map_error([](Error error) {
    error.message.insert(0, "cpu: ");
    return error;
  });
}

Result<Resources> PodRequests(const std::vector<Container>& containers) {
  Resources sum = {{"pods", 1}};
  for (const Container& container : containers) {
    for (const auto& [resource, quantity] : container.requests) {
      if (!IsOvercommittable(resource)) continue;
      if (Result<void> added = Add(resource, quantity, &sum); !added) return tl::unexpected(added.error());
    }
    for (const auto& [resource, quantity] : container.limits) {
      if (IsOvercommittable(resource)) continue;
      if (Result<void> added = Add(resource, quantity, &sum); !added) return tl::unexpected(added.error());
    }
  }
  return Positive(std::move(sum));
}

Result<Resources> NodeUnrequested(const Node& node, const std::vector<Pod>& pods) {
  Resources rest;
  for (const auto& [resource, quantity] : node.allocatable) {
    if (Result<void> added = Add(resource, quantity, &rest); !added) return tl::unexpected(added.error());
  }
  for (const Pod& pod : pods) {
    const bool ended = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
    if (ended || pod.node_name != node.metadata.name) continue;
    const Result<Resources> requests = PodRequests(pod.containers);
    if (!requests) return tl::unexpected(requests.error());
    for (const auto& [resource, amount] : *requests) {
      const auto entry = rest.find(resource);
      if (entry == rest.end()) continue;
      if (__builtin_sub_overflow(entry->second, amount, &entry->second)) {
        return Invalid(Printable(resource) + ": the difference is beyond 2^63 - 1");
      }
    }
  }
  return Positive(std::move(rest));
}

Result<json> SetDefaultResources(json pod_spec, const json& defaults) {
  if (defaults.is_null()) return Result<json>(tl::in_place, std::move(pod_spec));
  if (!defaults.is_object()) return Invalid("the default resources are not an object");
  const auto containers = pod_spec.find("containers");
  const bool has_container = containers != pod_spec.end() && containers->is_array() && !containers->empty() &&
                             containers->front().is_object();
  if (!has_container) return Invalid("containers: there is none to give default resources to");
  json& resources = containers->front().emplace("resources", json::object()).first.value();
  for (const char* section : {"requests", "limits"}) {
    const auto given = defaults.find(section);
    if (given == defaults.end() || given->is_null()) continue;
    if (!given->is_object()) return Invalid(std::string("default resources: ") + section + ": not an object");
    if (!resources.is_object()) return Invalid("containers[0].resources: not an object");
    json& target = resources.emplace(section, json::object()).first.value();
    if (target.is_null() && given->empty()) continue;
    if (!target.is_object()) {
      return Invalid(std::string("containers[0].resources.") + section + ": not an object");
    }
    for (const auto& [key, value] : given->items()) target.emplace(key, value);
  }
  return Result<json>(tl::in_place, std::move(pod_spec));
}

}  // namespace adaptdl
