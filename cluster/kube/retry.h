// Whether and when to try a request again. Pure.
#pragma once

#include <chrono>
#include <optional>

#include "cluster/clock.h"
#include "cluster/kube/transport.h"

namespace adaptdl {

// How the last try went.
struct Attempt {
  int number = 1;     // From 1.
  bool read = false;  // It changes nothing, so doing it twice does no harm.
  TransferAnswer::End end = TransferAnswer::End::kAnswered;
  int status = 0;
  std::chrono::seconds retry_after{0};  // The server's wish; 0: none.
};

// How long to wait before the next try; nothing where there is to be none: it makes no sense, could do
// a write twice, or would begin when no time is `left`. `random` is in [0, 1).
std::optional<Duration> RetryDelay(const Attempt& attempt, double random, Duration left);

}  // namespace adaptdl
