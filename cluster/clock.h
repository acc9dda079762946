// Time, and what is to happen at a time. Everything that decides runs on one thread, the clock's: the
// program's own in production (runtime/event_loop.h), the only one there is in simulation
// (cluster/sim/virtual_clock.h).
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "api/time.h"

namespace adaptdl {

// Only to be compared with others of the same clock. In simulation it is virtual.
using Instant = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

// Keeps what was scheduled alive: once it is destroyed or reset, that will not happen.
using Timer = std::shared_ptr<void>;

class Clock {
 public:
  virtual ~Clock() = default;

  // Never goes back. From any thread.
  virtual Instant Now() const = 0;

  // The date. For people, for fields that want one, and for what has to outlast the process, such as a job's
  // deadline. It may jump, so all else is decided by Now. From any thread.
  virtual Time Wall() const = 0;

  // Runs `task` on the clock's thread, soon, never inside this call. Tasks posted by one thread run in their
  // order. From any thread; once the clock has stopped, the task is dropped.
  virtual void Post(std::function<void()> task) = 0;

  // Runs `task` on the clock's thread once `delay` has passed (at once where it is not positive, but never
  // inside this call), unless the timer is gone by then. Two that are due at the same instant run in the
  // order in which they were scheduled. Only from the clock's thread; the timer is to be destroyed there,
  // too.
  [[nodiscard]] virtual Timer After(Duration delay, std::function<void()> task) = 0;
};

}  // namespace adaptdl
