// Randomness of a simulation: the same seed gives the same numbers with every compiler and library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "cluster/clock.h"

namespace adaptdl {

// The engine's numbers are laid down by the standard, but those of the standard's distributions are not: so
// none of them is used.
class SimRandom {
 public:
  explicit SimRandom(std::uint64_t seed) : engine_(seed) {}

  // From 0 to `count` - 1; `count` is positive. For the small counts of a simulation the remainder is fair
  // enough.
  std::uint64_t Below(std::uint64_t count) { return engine_() % count; }

  // True so many times in a million.
  bool Chance(std::uint32_t per_million) { return Below(1'000'000) < per_million; }

  // Whole microseconds, both bounds included.
  Duration Between(Duration low, Duration high) {
    using std::chrono::microseconds;
    const auto span = std::chrono::duration_cast<microseconds>(high - low).count();
    return low + microseconds(Below(static_cast<std::uint64_t>(span) + 1));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace adaptdl
