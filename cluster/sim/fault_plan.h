// What goes wrong in a simulated cluster, and how often.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/clock.h"

namespace adaptdl {

// What a plan is drawn from: everything, or only what has to do with one kind of trouble.
enum class FaultFamily {
  kCrashes,     // Processes end before and after their writes.
  kUnobserved,  // Events come late, or never, and what happened has to be found out otherwise.
  kStale,       // Processes come back, from a restart or to the network, and know only the past.
  kAll,
};

// Rates are chances in a million, each drawn anew for every call, stream or event it speaks of. After `end`
// nothing goes wrong any more and what is broken has healed, so that a test can ask whether all is well then.
struct FaultPlan {
  struct Window {
    Instant begin;
    Instant end;
  };

  // Streams.
  std::uint32_t late_event = 0;     // It, and what follows it on that stream, comes up to a minute late.
  std::uint32_t lost_event = 0;     // The stream breaks before it, and cannot be resumed: kGone, list again.
  std::uint32_t silent_stream = 0;  // Half-open: nothing comes any more until the client gives up on it.
  // The first list of each kind by a process that was restarted shows an earlier state.
  std::uint32_t stale_list = 0;

  // Calls.
  std::uint32_t unavailable = 0;         // Not done, and told so.
  std::uint32_t timeout_done = 0;        // (writes) Done, but no answer comes in time.
  std::uint32_t timeout_not_done = 0;    // Not done, and no answer comes in time.
  std::uint32_t crash_before_write = 0;  // The process ends before the write is sent,
  std::uint32_t crash_after_write = 0;   // or after it happened and before its answer; it comes back later.
  // With its answer the network goes for this process, up to a minute; its streams may take longer.
  std::uint32_t cut_off_after_write = 0;

  // The cluster.
  std::vector<Window> outages;            // The API server is away: streams break, calls fail.
  std::vector<Instant> history_expiries;  // Everything that a watch could resume from is forgotten.
  std::vector<Instant> node_losses;       // A node vanishes with its pods; it comes back later.

  Instant end{};

  static FaultPlan None() { return {}; }

  // Some of the faults, stronger or weaker, during `length` from the start of the clock. Which ones depends
  // on the seed: a fault that is never drawn together with others would hide what only happens without them.
  // Of a family but kAll there are all.
  static FaultPlan Draw(std::uint64_t seed, Duration length, FaultFamily family = FaultFamily::kAll);

  // One line, for the head of a trace.
  std::string ToString() const;
};

}  // namespace adaptdl
