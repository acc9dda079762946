#include "runtime/shutdown.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace adaptdl {
namespace {

// Without these a program could not be ended; it has hardly begun.
int Required(int descriptor, const char* what) {
  if (descriptor >= 0) return descriptor;
  std::perror(what);
  std::abort();
}

sigset_t EndingSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Shutdown::Shutdown(Duration limit) : limit_(limit) {
  const sigset_t set = EndingSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = Required(signalfd(-1, &set, SFD_CLOEXEC), "signalfd");
  end_ = Required(eventfd(0, EFD_CLOEXEC), "eventfd");
  thread_ = std::thread([this] { Watch(); });
}

Shutdown::~Shutdown() {
  const std::uint64_t one = 1;
  if (write(end_, &one, sizeof one) != sizeof one) std::abort();
  thread_.join();
  close(signals_);
  close(end_);
}

int Shutdown::RunUntilSignal(EventLoop& loop, const OnStop& on_stop) {
  const auto notify = [&] { loop.Post([&] { on_stop([&loop] { loop.Stop(); }); }); };
  {
    const std::lock_guard lock(mutex_);
    if (signal_ != 0) {
      notify();
    } else {
      notify_ = notify;
    }
  }
  loop.Run();
  const std::lock_guard lock(mutex_);
  notify_ = nullptr;
  return signal_;
}

void Shutdown::Watch() {
  int first = 0;
  Instant end{};
  while (true) {
    int wait = -1;
    if (first != 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) _exit(128 + first);
      wait = static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000));
    }
    pollfd fds[] = {{.fd = signals_, .events = POLLIN}, {.fd = end_, .events = POLLIN}};
    if (poll(fds, 2, wait) <= 0) continue;
    if (fds[1].revents != 0) return;
    signalfd_siginfo info{};
    if (read(signals_, &info, sizeof info) != sizeof info) continue;
    const int signal = static_cast<int>(info.ssi_signo);
    if (first != 0) _exit(128 + signal);
    first = signal;
    end = std::chrono::steady_clock::now() + limit_;
    Seen(signal);
  }
}

void Shutdown::Seen(int signal) {
  const std::lock_guard lock(mutex_);
  signal_ = signal;
  if (const auto notify = std::exchange(notify_, nullptr)) notify();
}

}  // namespace adaptdl
