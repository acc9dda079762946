#include "supervisor/rate_limits.h"

#include <utility>

namespace adaptdl {

bool RateLimits::Take(const std::string& name, Instant now) {
  const std::chrono::duration<double> recovery(burst_ / per_second_);
  if (now - turn_ > recovery) {
    before_ = now - turn_ > 2 * recovery ? std::map<std::string, RateLimit>() : std::move(recent_);
    recent_.clear();
    turn_ = now;
  }
  auto at = recent_.find(name);
  if (at == recent_.end()) {
    const auto old = before_.find(name);
    at = recent_.emplace(name, old == before_.end() ? RateLimit(per_second_, burst_) : old->second).first;
    if (old != before_.end()) before_.erase(old);
  }
  return at->second.Take(now, Duration::zero()).has_value();
}

}  // namespace adaptdl
