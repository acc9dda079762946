#include "runtime/rate_limit.h"

#include <algorithm>

namespace adaptdl {

std::optional<Duration> RateLimit::Take(Instant now, Duration patience) {
  using Seconds = std::chrono::duration<double>;
  if (now > at_) {
    used_ = std::max(0.0, used_ - per_second_ * Seconds(now - at_).count());
    at_ = now;
  }
  const Seconds wait(std::max(0.0, used_ + 1 - burst_) / per_second_);
  if (wait > Seconds(patience)) return std::nullopt;
  used_ += 1;
  return std::chrono::ceil<Duration>(wait);
}

}  // namespace adaptdl
