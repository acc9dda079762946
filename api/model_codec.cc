#include "api/model_codec.h"

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

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
