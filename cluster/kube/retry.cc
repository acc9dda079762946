#include "cluster/kube/retry.h"

#include <algorithm>
#include <cmath>

namespace adaptdl {
namespace {

constexpr double kFirstSeconds = 0.1;
constexpr double kLongestSeconds = 10;

bool MayTryAgain(const Attempt& attempt) {
  constexpr int kTooManyRequests = 429;
  constexpr int kInternalServerError = 500;
  constexpr int kServiceUnavailable = 503;
  switch (attempt.end) {
    case TransferAnswer::End::kNotSent:
      return true;
    case TransferAnswer::End::kLost:
      return attempt.read && attempt.status == 0;
    case TransferAnswer::End::kAnswered:
      // With either the server says that it did not begin.
      if (attempt.status == kTooManyRequests) return true;
      if (attempt.status == kServiceUnavailable && attempt.retry_after.count() > 0) return true;
      return attempt.read && attempt.status >= kInternalServerError;
    case TransferAnswer::End::kUntrusted:
    case TransferAnswer::End::kTimeout:
    case TransferAnswer::End::kTooLarge:
    case TransferAnswer::End::kStopped:
      return false;
  }
  return false;
}

}  // namespace

std::optional<Duration> RetryDelay(const Attempt& attempt, double random, Duration left) {
  if (!MayTryAgain(attempt)) return std::nullopt;
  // All of the back-off is random, so that those who failed together do not come back together. A server that
  // names a time gets at least that.
  const double longest =
      std::min(kLongestSeconds, kFirstSeconds * std::exp2(std::min(attempt.number, 30) - 1));
  const std::chrono::duration<double> random_part(random * longest);
  // What a server may ask for is not bounded, what a Duration holds is.
  const auto asked = std::min<std::chrono::seconds>(attempt.retry_after, std::chrono::hours(24));
  const Duration delay = asked + std::chrono::duration_cast<Duration>(random_part);
  if (delay >= left) return std::nullopt;
  return delay;
}

}  // namespace adaptdl
