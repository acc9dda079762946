// A token bucket: so many requests at once, so many each second in the long run.
#pragma once

#include <optional>

#include "cluster/clock.h"

namespace adaptdl {

class RateLimit {
 public:
  // Both are positive; `burst` is at least one.
  RateLimit(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  // Takes a place and says how long after `now` it is due; takes none where that is longer than `patience`.
  // Times do not go back from call to call; where one does, it counts as the one before.
  std::optional<Duration> Take(Instant now, Duration patience);

 private:
  double per_second_;
  double burst_;
  double used_ = 0;  // Places taken and not yet given back; more than `burst_`: those who wait.
  Instant at_{};
};

}  // namespace adaptdl
