// An Event: something that happened to an object, for people (`kubectl describe`). Nothing is decided by it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/metadata.h"
#include "api/time.h"
#include "nlohmann/json_fwd.hpp"

namespace adaptdl {

class Reader;

struct Event {
  Metadata metadata;
  Owner about;           // The object, which is in the event's own namespace.
  bool warning = false;  // Otherwise it is normal.
  std::string reason;    // One word in camel case.
  std::string message;
  std::string component;  // Who says so.
  std::optional<Time> at;

  friend bool operator==(const Event&, const Event&) = default;
};

void Decode(const Reader& in, Event* out);
nlohmann::json Encode(const Event& event);

}  // namespace adaptdl
