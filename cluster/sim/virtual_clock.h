// A clock that stands still until it is told to go on, and then jumps to the next thing that is due.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "cluster/clock.h"

namespace adaptdl {

// All on one thread. What is due at the same instant runs in the order in which it was scheduled, so that the
// same program gives the same run.
class VirtualClock final : public Clock {
 public:
  // The date at which the clock begins; its Instant begins at the epoch.
  explicit VirtualClock(Time start = Time(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)));

  Instant Now() const override { return now_; }
  Time Wall() const override;
  void Post(std::function<void()> task) override;
  Timer After(Duration delay, std::function<void()> task) override;
  // As After, but nobody holds a timer: it runs for certain, if the clock does.
  void Schedule(Duration delay, std::function<void()> task);

  // Runs the next task, whenever that is; false where none is left.
  bool RunNext();
  // Runs all that is due until `end`, which then is the time.
  void RunUntil(Instant end);
  void RunFor(Duration duration) { RunUntil(now_ + duration); }
  // Runs until `holds` holds or `limit` has passed; whether it holds.
  bool RunUntil(const std::function<bool()>& holds, Duration limit);

 private:
  using Task = std::shared_ptr<std::function<void()>>;
  struct Entry {
    std::weak_ptr<std::function<void()>> task;
    Task owned;  // Where nobody holds a timer of it.
  };

  void Add(Instant at, Entry entry);

  Time start_;
  Instant now_{};
  std::uint64_t sequence_ = 0;
  std::map<std::pair<Instant, std::uint64_t>, Entry> queue_;
};

}  // namespace adaptdl
