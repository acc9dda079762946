#include "cluster/kube/api_client.h"

#include <utility>

#include "cluster/kube/retry.h"
#include "cluster/kube/status.h"

namespace adaptdl {
namespace {

constexpr int kUnauthorized = 401;

bool IsSuccess(const TransferAnswer& answer) {
  return answer.end == TransferAnswer::End::kAnswered && answer.status / 100 == 2;
}

bool IsRead(const ApiCall& call) { return call.request.method == "GET" || call.dry_run; }

Error ErrorOf(const TransferAnswer& answer, const ApiCall& call) {
  const auto error = [&](ErrorCode code, bool retryable) {
    return Error{code, call.what + ": " + answer.message, retryable};
  };
  const bool write = !IsRead(call);
  switch (answer.end) {
    case TransferAnswer::End::kAnswered: {
      Error failure = ErrorFromAnswer(answer.status, answer.body, call.what);
      if (call.dry_run && failure.code == ErrorCode::kInvalid) {
        return ErrorFromAnswer(answer.status, answer.body, "");
      }
      // The server failed in the middle of it, as when its store did not answer: it may have been done.
      const bool taken = answer.status >= 500 && answer.retry_after.count() == 0;
      if (write && taken && failure.code == ErrorCode::kUnavailable) failure.code = ErrorCode::kTimeout;
      return failure;
    }
    case TransferAnswer::End::kNotSent:
    case TransferAnswer::End::kUntrusted:
      return error(ErrorCode::kUnavailable, true);
    case TransferAnswer::End::kLost:
      return error(write ? ErrorCode::kTimeout : ErrorCode::kUnavailable, true);
    case TransferAnswer::End::kTimeout:
      // A stream that goes on for too long has lost its server, but it was an answer.
      return error(call.request.on_data && answer.status != 0 ? ErrorCode::kUnavailable : ErrorCode::kTimeout,
                   true);
    case TransferAnswer::End::kTooLarge:
      return {ErrorCode::kInternal,
              call.what + ": the answer is larger than " + std::to_string(call.request.max_body) + " bytes"};
    case TransferAnswer::End::kStopped:
      return error(ErrorCode::kInternal, false);
  }
  return error(ErrorCode::kInternal, false);
}

}  // namespace

ApiClient::ApiClient(std::unique_ptr<Transport> transport, KubeConnection connection, KubeOptions options,
                     Clock& clock)
    : clock_(clock),
      options_(std::move(options)),
      limit_(options_.requests_per_second, options_.burst),
      random_(options_.seed),
      transport_(std::move(transport)),
      credentials_(std::move(connection), clock) {}

std::uint64_t ApiClient::Start(ApiCall call, Handler done) {
  const std::uint64_t id = ++last_id_;
  calls_.emplace(id, Pending{.call = std::move(call),
                             .done = std::move(done),
                             .deadline = clock_.Now() + options_.call_deadline});
  Schedule(id, Duration::zero());
  return id;
}

void ApiClient::Cancel(std::uint64_t id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  if (found->second.transfer != 0) transport_->Cancel(found->second.transfer);
  calls_.erase(found);
}

void ApiClient::Schedule(std::uint64_t id, Duration delay) {
  Pending& pending = calls_.at(id);
  const Instant start = clock_.Now() + delay;
  const std::optional<Duration> wait = limit_.Take(start, pending.deadline - start);
  if (wait) {
    pending.timer = clock_.After(delay + *wait, [this, id] { Authenticate(id); });
  } else {
    FailLater(id,
              {ErrorCode::kUnavailable, pending.call.what + ": too many requests wait here already", true});
  }
}

void ApiClient::Authenticate(std::uint64_t id) {
  Pending& pending = calls_.at(id);
  ++pending.attempt;
  pending.timer = clock_.After(pending.deadline - clock_.Now(), [this, id, what = pending.call.what] {
    Finish(id, Fail(ErrorCode::kUnavailable, what + ": the credentials are not there in time", true));
  });
  credentials_.Get([this, id](Result<std::shared_ptr<const Identity>> identity) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    if (identity) return Send(id, *std::move(identity));
    identity.error().message = found->second.call.what + ": " + identity.error().message;
    FailLater(id, std::move(identity.error()));
  });
}

void ApiClient::Send(std::uint64_t id, std::shared_ptr<const Identity> identity) {
  Pending& pending = calls_.at(id);
  pending.timer.reset();
  pending.identity = identity;
  TransferRequest request = pending.call.request;
  request.identity = std::move(identity);
  if (!request.on_data) {
    request.timeout = std::chrono::ceil<std::chrono::milliseconds>(pending.deadline - clock_.Now());
  }
  const auto done = [this, id, &clock = clock_, alive = std::weak_ptr(alive_),
                     decode = pending.call.decode](TransferAnswer answer) {
    // On the I/O thread: reading a long list takes its time.
    auto value = IsSuccess(answer) ? decode(answer.body) : nullptr;
    if (IsSuccess(answer)) answer.body.clear();
    clock.Post([this, id, alive, answer = std::move(answer), value = std::move(value)] {
      if (!alive.expired()) Answered(id, answer, value);
    });
  };
  pending.transfer = transport_->Start(std::move(request), done);
}

void ApiClient::Answered(std::uint64_t id, const TransferAnswer& answer, std::shared_ptr<void> value) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  Pending& pending = found->second;
  pending.transfer = 0;
  if (options_.on_request) options_.on_request(pending.call.verb, pending.call.kind, answer.status);
  if (IsSuccess(answer)) return Finish(id, std::move(value));

  const bool refused = (answer.end == TransferAnswer::End::kAnswered && answer.status == kUnauthorized) ||
                       answer.end == TransferAnswer::End::kUntrusted;
  if (refused && !pending.renewed) {
    pending.renewed = true;
    credentials_.Refuse(pending.identity);
    return Schedule(id, Duration::zero());
  }
  const Attempt attempt{.number = pending.attempt,
                        .read = IsRead(pending.call),
                        .end = answer.end,
                        .status = answer.status,
                        .retry_after = answer.retry_after};
  const double random = std::uniform_real_distribution<>()(random_);
  if (const auto delay = RetryDelay(attempt, random, pending.deadline - clock_.Now())) {
    return Schedule(id, *delay);
  }
  Finish(id, tl::unexpected(ErrorOf(answer, pending.call)));
}

void ApiClient::Finish(std::uint64_t id, Result<std::shared_ptr<void>> result) {
  const auto found = calls_.find(id);
  const Handler done = std::move(found->second.done);
  calls_.erase(found);
  done(std::move(result));  // After which this may be gone.
}

void ApiClient::FailLater(std::uint64_t id, Error error) {
  calls_.at(id).timer = clock_.After(
      Duration::zero(), [this, id, error = std::move(error)] { Finish(id, tl::unexpected(error)); });
}

}  // namespace adaptdl
