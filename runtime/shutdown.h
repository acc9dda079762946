// The end of a program that is told to end: SIGTERM (Kubernetes) or SIGINT (a terminal).
#pragma once

#include <functional>
#include <mutex>
#include <thread>

#include "cluster/clock.h"
#include "runtime/event_loop.h"

namespace adaptdl {

// The first signal starts a clean stop. A second one, or `limit` after the first, ends the program at once,
// wherever it hangs, with status 128 + the signal's number.
//
// There is one, made first in main: threads take over the signals that are blocked in the one that starts
// them, and a signal that is not blocked in every thread would end the program instead. Programs started from
// here inherit that SIGTERM and SIGINT are blocked and SIGPIPE is ignored; whoever starts one resets this in
// the child.
class Shutdown {
 public:
  // Blocks the two signals in this thread, ignores SIGPIPE (writing to a closed connection is an ordinary
  // error), and watches from a thread of its own.
  explicit Shutdown(Duration limit);
  // Blocked signals remain so: one that comes now no longer matters.
  ~Shutdown();
  Shutdown(const Shutdown&) = delete;
  Shutdown& operator=(const Shutdown&) = delete;

  // What stops the program cleanly: it calls `done` when all is stopped, from any thread, but while the loop
  // is still there.
  using OnStop = std::function<void(std::function<void()> done)>;

  // Runs the loop. After the first signal, also one from before this call, `on_stop` runs on the loop's
  // thread, and its `done` stops the loop. Returns the signal's number, or 0 where the loop was stopped
  // without one.
  int RunUntilSignal(EventLoop& loop, const OnStop& on_stop);

 private:
  void Watch();
  void Seen(int signal);

  const Duration limit_;
  int signals_;  // File descriptor: the signals that came.
  int end_;      // File descriptor: the watching ends.
  std::mutex mutex_;
  int signal_ = 0;                // The first one.
  std::function<void()> notify_;  // While the loop runs and no signal has come.
  std::thread thread_;
};

}  // namespace adaptdl
