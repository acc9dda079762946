#include "api/container.h"

#include <optional>

#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

// An amount that is null counts as absent.
void ReadQuantities(const Reader& in, std::string_view key, Quantities* out) {
  std::map<std::string, std::optional<Quantity>> given;
  in.Optional(key, &given);
  for (const auto& [name, quantity] : given) {
    if (quantity) out->emplace(name, *quantity);
  }
}

}  // namespace

void Decode(const Reader& in, Container* out) {
  in.Optional("name", &out->name);
  if (const auto resources = in.Find("resources")) {
    ReadQuantities(*resources, "requests", &out->requests);
    ReadQuantities(*resources, "limits", &out->limits);
  }
}

json Encode(const Container& container) {
  json out = {{"name", container.name}, {"resources", json::object()}};
  if (!container.requests.empty()) out["resources"]["requests"] = Encode(container.requests);
  if (!container.limits.empty()) out["resources"]["limits"] = Encode(container.limits);
  return out;
}

json Encode(const Quantities& quantities) {
  json out = json::object();
  for (const auto& [name, quantity] : quantities) out[name] = quantity.ToString();
  return out;
}

}  // namespace adaptdl
