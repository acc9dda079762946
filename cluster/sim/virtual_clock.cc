#include "cluster/sim/virtual_clock.h"

#include <algorithm>

namespace adaptdl {

VirtualClock::VirtualClock(Time start) : start_(start) {}

Time VirtualClock::Wall() const {
  return start_ + std::chrono::duration_cast<Time::duration>(now_.time_since_epoch());
}

void VirtualClock::Post(std::function<void()> task) { Schedule(Duration::zero(), std::move(task)); }

void VirtualClock::Schedule(Duration delay, std::function<void()> task) {
  auto owned = std::make_shared<std::function<void()>>(std::move(task));
  Add(now_ + std::max(delay, Duration::zero()), {.task = owned, .owned = owned});
}

Timer VirtualClock::After(Duration delay, std::function<void()> task) {
  auto timer = std::make_shared<std::function<void()>>(std::move(task));
  Add(now_ + std::max(delay, Duration::zero()), {.task = timer, .owned = nullptr});
  return timer;
}

void VirtualClock::Add(Instant at, Entry entry) {
  queue_.emplace(std::pair(at, sequence_++), std::move(entry));
}

bool VirtualClock::RunNext() {
  while (!queue_.empty()) {
    const auto first = queue_.begin();
    const Task task = first->second.task.lock();
    const Instant at = first->first.first;
    queue_.erase(first);
    if (task == nullptr) continue;  // Its timer is gone: the time does not move for it.
    now_ = at;
    (*task)();
    return true;
  }
  return false;
}

void VirtualClock::RunUntil(Instant end) {
  while (!queue_.empty() && queue_.begin()->first.first <= end) {
    if (queue_.begin()->second.task.expired()) {
      queue_.erase(queue_.begin());
    } else {
      RunNext();
    }
  }
  now_ = std::max(now_, end);
}

bool VirtualClock::RunUntil(const std::function<bool()>& holds, Duration limit) {
  const Instant end = now_ + limit;
  while (!holds()) {
    while (!queue_.empty() && queue_.begin()->second.task.expired()) queue_.erase(queue_.begin());
    if (queue_.empty() || queue_.begin()->first.first > end) {
      now_ = std::max(now_, end);
      return holds();
    }
    RunNext();
  }
  return true;
}

}  // namespace adaptdl
