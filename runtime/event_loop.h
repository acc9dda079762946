// The clock of a running program: one thread that runs what is posted and what is due.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "cluster/clock.h"

namespace adaptdl {

class EventLoop final : public Clock {
 public:
  Instant Now() const override;
  Time Wall() const override;
  void Post(std::function<void()> task) override;
  Timer After(Duration delay, std::function<void()> task) override;

  // Runs until Stop. The thread that calls it is the clock's thread until it returns.
  void Run();

  // Runs until `holds` holds, which is asked after every task, or `limit` has passed; whether it holds.
  bool RunUntil(const std::function<bool()>& holds, Duration limit);

  // Ends Run after the task that is being run; what is left is dropped with the loop. From any thread, also
  // before Run: then Run returns at once.
  void Stop();

 private:
  using Task = std::function<void()>;

  bool stopped() const;
  // Runs a timer that is due and a task that was posted, where there are such; waits for either until
  // `until`.
  void Step(Instant until);

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> posted_;
  bool stopped_ = false;
  // Of the clock's thread alone.
  std::map<std::pair<Instant, std::uint64_t>, std::weak_ptr<Task>> timers_;
  std::uint64_t sequence_ = 0;
};

}  // namespace adaptdl
