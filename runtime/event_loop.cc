#include "runtime/event_loop.h"

#include <algorithm>

namespace adaptdl {

Instant EventLoop::Now() const { return std::chrono::steady_clock::now(); }

Time EventLoop::Wall() const {
  return std::chrono::time_point_cast<Time::duration>(std::chrono::system_clock::now());
}

void EventLoop::Post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    posted_.push_back(std::move(task));
  }
  wake_.notify_one();
}

Timer EventLoop::After(Duration delay, std::function<void()> task) {
  auto timer = std::make_shared<Task>(std::move(task));
  timers_.emplace(std::pair(Now() + std::max(delay, Duration::zero()), sequence_++), timer);
  return timer;
}

void EventLoop::Run() {
  while (!stopped()) Step(Instant::max());
}

bool EventLoop::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

bool EventLoop::RunUntil(const std::function<bool()>& holds, Duration limit) {
  const Instant end = Now() + limit;
  while (!holds()) {
    if (Now() >= end || stopped()) return false;
    Step(end);
  }
  return true;
}

void EventLoop::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_one();
}

void EventLoop::Step(Instant until) {
  while (!timers_.empty() && timers_.begin()->second.expired()) timers_.erase(timers_.begin());
  if (!timers_.empty() && timers_.begin()->first.first <= Now()) {
    const std::shared_ptr<Task> task = timers_.begin()->second.lock();
    timers_.erase(timers_.begin());
    (*task)();
    until = Now();  // What is posted has its turn, too, but nobody waits for it.
  } else if (!timers_.empty()) {
    until = std::min(until, timers_.begin()->first.first);
  }
  Task task;
  {
    std::unique_lock lock(mutex_);
    const auto ready = [&] { return stopped_ || !posted_.empty(); };
    if (until == Instant::max()) {
      wake_.wait(lock, ready);
    } else {
      wake_.wait_until(lock, until, ready);
    }
    if (stopped_ || posted_.empty()) return;
    task = std::move(posted_.front());
    posted_.pop_front();
  }
  task();
}

}  // namespace adaptdl
