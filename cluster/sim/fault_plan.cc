#include "cluster/sim/fault_plan.h"

#include <algorithm>
#include <initializer_list>
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

FaultPlan FaultPlan::Draw(std::uint64_t seed, Duration length, FaultFamily family) {
  // Not the numbers that the world with this seed draws.
  SimRandom rng(seed ^ 0xfa017b1a5eedU);
  FaultPlan plan;
  plan.end = Instant(length);
  const auto drawn = [&](std::initializer_list<FaultFamily> of) {
    const bool heads = rng.Below(2) == 0;
    if (family == FaultFamily::kAll) return heads;
    return std::find(of.begin(), of.end(), family) != of.end();
  };
  const auto rate = [&](std::uint32_t most, std::initializer_list<FaultFamily> of) -> std::uint32_t {
    return drawn(of) ? 1 + static_cast<std::uint32_t>(rng.Below(most)) : 0;
  };
  const auto times = [&](std::initializer_list<FaultFamily> of) {
    return drawn(of) ? DrawTimes(rng, length) : std::vector<Instant>();
  };
  using enum FaultFamily;
  plan.late_event = rate(50'000, {kUnobserved});
  plan.lost_event = rate(20'000, {kUnobserved});
  plan.silent_stream = rate(200'000, {kUnobserved});
  plan.stale_list = rate(800'000, {kStale});
  plan.unavailable = rate(100'000, {});
  plan.timeout_done = rate(50'000, {});
  plan.timeout_not_done = rate(50'000, {});
  plan.crash_before_write = rate(20'000, {kCrashes, kStale});
  plan.crash_after_write = rate(20'000, {kCrashes, kStale});
  plan.cut_off_after_write = rate(40'000, {kStale});
  if (drawn({})) {
    for (const Instant begin : DrawTimes(rng, length)) {
      const Instant end = std::min(begin + rng.Between(milliseconds(100), seconds(60)), plan.end);
      if (plan.outages.empty() || plan.outages.back().end < begin) plan.outages.push_back({begin, end});
    }
  }
  plan.history_expiries = times({kUnobserved});
  plan.node_losses = times({});
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
      {"cut_off_after_write", cut_off_after_write},
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
