// A thread that takes no signals: those of the program are for its main thread, and writing to a connection
// that the other side has closed must be an error, not the end of the program (TLS libraries do not prevent
// SIGPIPE).
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace adaptdl {

template <typename Task>
std::thread QuietThread(Task task) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // A new thread begins with the mask of the one that makes it, so there is no moment in between.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(task));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace adaptdl
