#include "api/condition.h"

#include <algorithm>
#include <utility>

#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

void Decode(const Reader& in, Condition* out) {
  in.Required("type", &out->type);
  in.Optional("status", &out->status);
  in.Optional("reason", &out->reason);
  in.Optional("message", &out->message);
  in.Optional("lastTransitionTime", &out->last_transition_time);
}

json Encode(const Condition& condition) {
  json out = {{"type", condition.type}, {"status", condition.status}};
  if (!condition.reason.empty()) out["reason"] = condition.reason;
  if (!condition.message.empty()) out["message"] = condition.message;
  if (condition.last_transition_time) out["lastTransitionTime"] = FormatTime(*condition.last_transition_time);
  return out;
}

const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type) {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Condition& one) { return one.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

void SetCondition(std::vector<Condition>* conditions, Condition condition, Time now) {
  const auto found = std::find_if(conditions->begin(), conditions->end(),
                                  [&](const Condition& one) { return one.type == condition.type; });
  condition.last_transition_time = now;
  if (found == conditions->end()) return conditions->push_back(std::move(condition));
  if (found->status == condition.status) condition.last_transition_time = found->last_transition_time;
  *found = std::move(condition);
}

}  // namespace adaptdl
