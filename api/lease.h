// A Lease of coordination.k8s.io: who leads, and until when others must believe it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/metadata.h"
#include "api/time.h"
#include "nlohmann/json_fwd.hpp"

namespace adaptdl {

class Reader;

struct Lease {
  Metadata metadata;
  std::string holder;                            // Empty where nobody holds it.
  std::optional<std::int64_t> duration_seconds;  // How long after its last change others have to wait.
  std::optional<Time> acquire_time;
  std::optional<Time> renew_time;  // For people: no decision compares it, as clocks of machines differ.
  std::int64_t transitions = 0;

  friend bool operator==(const Lease&, const Lease&) = default;
};

void Decode(const Reader& in, Lease* out);
nlohmann::json Encode(const Lease& lease);

}  // namespace adaptdl
