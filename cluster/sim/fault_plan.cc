#include "cluster/sim/fault_plan.h"

#include <algorithm>
#include <utility>

#include "cluster/sim/sim_random.h"

namespace adaptdl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Faults that happen at a time, not by chance, are so far apart on average.
constexpr seconds kMeanGap = seconds(120);

std::vector<Instant> DrawTimes(SimRandom& rng, Duration length) {
  std::vector<Instant> times;
  Instant at{};
  while (true) {
    at += rng.Between(seconds(1), 2 * kMeanGap);
    if (at >= Instant(length)) return times;
    times.push_back(at);
  }
}

}  // namespace

FaultPlan FaultPlan::Draw(std::uint64_t seed, Duration length) {
  // Not the numbers that the world with this seed draws.
  SimRandom rng(seed ^ 0xfa017b1a5eedU);
  FaultPlan plan;
  plan.end = Instant(length);
  const auto rate = [&](std::uint32_t most) -> std::uint32_t {
    if (rng.Below(2) == 0) return 0;
    return 1 + static_cast<std::uint32_t>(rng.Below(most));
  };
  plan.late_event = rate(50'000);
  plan.lost_event = rate(20'000);
  plan.silent_stream = rate(200'000);
  plan.stale_list = rate(800'000);
  plan.unavailable = rate(100'000);
  plan.timeout_done = rate(50'000);
  plan.timeout_not_done = rate(50'000);
  plan.crash_before_write = rate(20'000);
  plan.crash_after_write = rate(20'000);
  if (rng.Below(2) == 0) {
    for (const Instant begin : DrawTimes(rng, length)) {
      const Instant end = std::min(begin + rng.Between(milliseconds(100), seconds(60)), plan.end);
      if (plan.outages.empty() || plan.outages.back().end < begin) plan.outages.push_back({begin, end});
    }
  }
  if (rng.Below(2) == 0) plan.history_expiries = DrawTimes(rng, length);
  if (rng.Below(2) == 0) plan.node_losses = DrawTimes(rng, length);
  return plan;
}

std::string FaultPlan::ToString() const {
  const std::pair<const char*, std::uint64_t> parts[] = {
      {"late_event", late_event},
      {"lost_event", lost_event},
      {"silent_stream", silent_stream},
      {"stale_list", stale_list},
      {"unavailable", unavailable},
      {"timeout_done", timeout_done},
      {"timeout_not_done", timeout_not_done},
      {"crash_before_write", crash_before_write},
      {"crash_after_write", crash_after_write},
      {"outages", outages.size()},
      {"history_expiries", history_expiries.size()},
      {"node_losses", node_losses.size()},
  };
  std::string text;
  for (const auto& [name, value] : parts) {
    if (value != 0) text += std::string(text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  }
  return text.empty() ? "none" : text;
}

}  // namespace adaptdl
