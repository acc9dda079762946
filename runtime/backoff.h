// How long to wait before something that failed is tried again.
#pragma once

#include <chrono>
#include <random>

#include "cluster/clock.h"

namespace adaptdl {

struct Backoff {
  Duration first = std::chrono::milliseconds(100);
  Duration max = std::chrono::seconds(30);

  // After that many failures in a row (at least one). The wait doubles with each up to `max`; a random part
  // of up to half of it is left off, so that those who failed together do not come back together.
  Duration Delay(int failures, std::mt19937_64& random) const;
};

// Evenly between `low` and `high`. The same on every platform, which std distributions are not.
Duration RandomBetween(Duration low, Duration high, std::mt19937_64& random);

}  // namespace adaptdl
