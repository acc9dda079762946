// One container of a pod, as far as the control plane looks at it.
#pragma once

#include <map>
#include <string>

#include "api/quantity.h"
#include "nlohmann/json_fwd.hpp"

namespace adaptdl {

class Reader;

using Quantities = std::map<std::string, Quantity>;

struct Container {
  std::string name;
  Quantities requests;
  Quantities limits;

  friend bool operator==(const Container&, const Container&) = default;
};

void Decode(const Reader& in, Container* out);
nlohmann::json Encode(const Container& container);
nlohmann::json Encode(const Quantities& quantities);

}  // namespace adaptdl
