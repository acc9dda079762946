#include "api/model_codec.h"

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

void Decode(const Reader& in, Observation* out) {
  constexpr Limits kTime{.min = 0, .exclusive_min = true};
  in.Required("num_nodes", &out->num_nodes, kSizeLimits);
  in.Required("num_replicas", &out->num_replicas, kSizeLimits);
  in.Required("atomic_bsz", &out->atomic_bsz, kSizeLimits);
  in.Required("accum_step_time", &out->accum_step_time, kTime);
  in.Required("optim_step_time", &out->optim_step_time, kTime);
  CheckOrder(in, "num_replicas", out->num_replicas, "num_nodes", out->num_nodes);
}

json Encode(const Observation& observation) {
  return {{"num_nodes", observation.num_nodes},
          {"num_replicas", observation.num_replicas},
          {"atomic_bsz", observation.atomic_bsz},
          {"accum_step_time", observation.accum_step_time},
          {"optim_step_time", observation.optim_step_time}};
}

void ReadBounds(const Reader& in, std::string_view key, std::optional<std::int64_t>* min,
                std::optional<std::int64_t>* max) {
  std::optional<std::vector<std::optional<std::int64_t>>> bounds;
  in.Optional(key, &bounds, kSizeLimits);
  if (!bounds || !in.ok()) return;
  if (bounds->size() != 2) return in.Fail(key, "expected a list of two: [min, max]");
  *min = bounds->front();
  *max = bounds->back();
  CheckOrder(in, key, *max, "the lower bound", *min);
}

json EncodeBounds(const std::optional<std::int64_t>& min, const std::optional<std::int64_t>& max) {
  const auto bound = [](const std::optional<std::int64_t>& value) { return value ? json(*value) : json(); };
  return json::array({bound(min), bound(max)});
}

void CheckOrder(const Reader& in, std::string_view key, const std::optional<std::int64_t>& high,
                std::string_view low_name, const std::optional<std::int64_t>& low) {
  if (!high || !low || *low <= *high) return;
  in.Fail(key, std::to_string(*high) + " is below " + std::string(low_name) + ", " + std::to_string(*low));
}

}  // namespace adaptdl
