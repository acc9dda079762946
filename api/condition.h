// One thing that is or is not so with an object, as `kubectl wait --for=condition=TYPE` asks for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/time.h"
#include "nlohmann/json_fwd.hpp"

namespace adaptdl {

class Reader;

struct Condition {
  std::string type;
  std::string status = "Unknown";  // "True", "False" or "Unknown".
  std::string reason = {};
  std::string message = {};
  std::optional<Time> last_transition_time = {};  // When `status` last changed.

  friend bool operator==(const Condition&, const Condition&) = default;
};

void Decode(const Reader& in, Condition* out);
nlohmann::json Encode(const Condition& condition);

// Null where there is none of that type.
const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type);

// Puts it in place of the one of its type, or behind all others. Its time stays as it was unless its status
// changes; then it is `now`.
void SetCondition(std::vector<Condition>* conditions, Condition condition, Time now);

}  // namespace adaptdl
