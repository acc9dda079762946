// How tests wait: for what is so, never for a time.
#pragma once

#include <chrono>
#include <functional>

#include "runtime/event_loop.h"

namespace adaptdl {

// Runs the loop until `holds` holds, which is also looked at now and then, as no event tells of files and
// other programs. False after minutes: only against tests that would never end.
[[nodiscard]] inline bool Eventually(EventLoop& loop, const std::function<bool()>& holds) {
  constexpr std::chrono::seconds kLimit{180};
  Timer tick;
  const std::function<void()> look = [&] { tick = loop.After(std::chrono::milliseconds(50), look); };
  look();
  return loop.RunUntil(holds, kLimit);
}

}  // namespace adaptdl
