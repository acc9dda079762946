// A rate limit for each of many: clients, jobs.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "cluster/clock.h"
#include "runtime/rate_limit.h"

namespace adaptdl {

class RateLimits {
 public:
  // For each: so many at once, so many a second in the long run.
  RateLimits(double per_second, double burst) : per_second_(per_second), burst_(burst) {}

  // Whether `name` may go on now.
  bool Take(const std::string& name, Instant now);

  // How many are remembered: those who came within the time in which a limit recovers in full.
  std::size_t size() const { return recent_.size() + before_.size(); }

 private:
  const double per_second_;
  const double burst_;
  // In two generations: who has not come for one of them has all of his burst again and is forgotten.
  std::map<std::string, RateLimit> recent_;
  std::map<std::string, RateLimit> before_;
  Instant turn_{};
};

}  // namespace adaptdl
