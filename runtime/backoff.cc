#include "runtime/backoff.h"

#include <algorithm>

namespace adaptdl {

Duration Backoff::Delay(int failures, std::mt19937_64& random) const {
  Duration delay = std::min(first, max);
  for (int i = 1; i < failures && delay < max; ++i) delay = std::min(2 * delay, max);
  return RandomBetween(delay - delay / 2, delay, random);
}

Duration RandomBetween(Duration low, Duration high, std::mt19937_64& random) {
  const double fraction = static_cast<double>(random() >> 11) * 0x1p-53;
  return low + std::chrono::duration_cast<Duration>((high - low) * fraction);
}

}  // namespace adaptdl
