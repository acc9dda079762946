#include "supervisor/rpc/rpc_calls.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "adaptdl/v1/supervisor.grpc.pb.h"
#include "supervisor/request.h"
#include "supervisor/rpc/messages.h"

namespace adaptdl {
namespace {

using grpc::CallbackServerContext;
using grpc::Status;
using grpc::StatusCode;
using std::chrono::milliseconds;

constexpr Duration kDefaultTimeout = std::chrono::seconds(30);

Status ToStatus(const Error& error) { return {StatusCode::INVALID_ARGUMENT, error.message}; }

Status ToStatus(const Refusal& refusal) {
  const auto code = [&] {
    switch (refusal.kind) {
      case Refusal::Kind::kNoToken:
        return StatusCode::UNAUTHENTICATED;
      case Refusal::Kind::kWrongToken:
        return StatusCode::PERMISSION_DENIED;
      case Refusal::Kind::kTooMany:
        return StatusCode::RESOURCE_EXHAUSTED;
      case Refusal::Kind::kNotReady:
        return StatusCode::UNAVAILABLE;
      case Refusal::Kind::kInvalid:
        return StatusCode::INVALID_ARGUMENT;
      case Refusal::Kind::kNoJob:
        return StatusCode::NOT_FOUND;
      case Refusal::Kind::kOutdated:
        return StatusCode::FAILED_PRECONDITION;
    }
    return StatusCode::INTERNAL;
  };
  return {code(), refusal.message};
}

Status AboutToEnd() { return {StatusCode::UNAVAILABLE, "the supervisor is about to end"}; }

Caller CallerOf(const CallbackServerContext& context) {
  Caller caller{.address = PeerAddress(context.peer())};
  const auto& metadata = context.client_metadata();
  if (const auto found = metadata.find("authorization"); found != metadata.end()) {
    caller.token = BearerToken({found->second.data(), found->second.size()});
  }
  return caller;
}

// What a request is about.
struct Subject {
  Key job;
  std::int64_t group = 0;
};

template <typename Request>
Result<Subject> SubjectOf(const Request& request) {
  return ParseJobKey(request.namespace_(), request.job()).and_then([&](const Key& job) {
    return CheckGroup(request.group()).map([&](std::int64_t group) { return Subject{job, group}; });
  });
}

}  // namespace

// One call. gRPC destroys it on a thread of its own some time after its last word, which is said on the
// clock's thread alone.
class RpcCall {
 public:
  virtual ~RpcCall() = default;
  // Called once.
  virtual void Serve() = 0;
  // Its last word. Nobody waits for it any more.
  virtual void End(const Status& status) = 0;
  // Whether it cannot be answered before the server goes.
  virtual bool IsEndless() const { return false; }
};

bool RpcCalls::Add(const RpcCallHandle& call) {
  const std::lock_guard lock(mutex_);
  calls_.insert(call);
  return !closed_;
}

void RpcCalls::Remove(const RpcCallHandle& call) {
  const std::lock_guard lock(mutex_);
  calls_.erase(call);
  if (calls_.empty()) none_left_.notify_all();  // Under the lock: this may be gone right after it.
}

bool RpcCalls::Stop() {
  if (std::exchange(stopping_, true)) return false;
  for (const RpcCallHandle& call : All()) {
    if (*call != nullptr && (*call)->IsEndless()) (*call)->End(AboutToEnd());
  }
  return true;
}

void RpcCalls::EndAll() { End(All()); }

void RpcCalls::Close() {
  std::vector<RpcCallHandle> calls;
  {
    // Those that come later are not for this thread to look at.
    const std::lock_guard lock(mutex_);
    closed_ = true;
    calls.assign(calls_.begin(), calls_.end());
  }
  End(calls);
}

void RpcCalls::WaitUntilNone() {
  std::unique_lock lock(mutex_);
  none_left_.wait(lock, [&] { return calls_.empty(); });
}

std::vector<RpcCallHandle> RpcCalls::All() {
  const std::lock_guard lock(mutex_);
  return {calls_.begin(), calls_.end()};
}

void RpcCalls::End(const std::vector<RpcCallHandle>& calls) {
  for (const RpcCallHandle& call : calls) {
    if (*call != nullptr) (*call)->End(AboutToEnd());
  }
}

namespace {

// What calls have in common; `Reactor` is gRPC's part of it.
template <typename Reactor>
class ReactorCall : public Reactor, public RpcCall {
 public:
  explicit ReactorCall(RpcCalls& calls) : calls_(calls), self_(std::make_shared<RpcCall*>(this)) {}

  // What a method of the service returns.
  Reactor* Begin() {
    if (calls_.Add(self_)) {
      calls_.clock().Post([&calls = calls_, self = self_] {
        if (*self == nullptr) return;
        if (calls.stopping()) return (*self)->End(AboutToEnd());  // It is there as long as one of its calls.
        (*self)->Serve();
      });
    } else {
      *self_ = nullptr;
      this->Finish(AboutToEnd());  // The clock may not run any more.
    }
    return this;
  }

  void OnCancel() final {
    calls_.clock().Post([self = self_] {
      if (*self != nullptr) (*self)->End({StatusCode::CANCELLED, "the client has gone"});
    });
  }

  void OnDone() final {
    RpcCalls& calls = calls_;
    const RpcCallHandle self = self_;
    delete this;
    calls.Remove(self);
  }

  void End(const Status& status) final {
    BeginLastWord();
    this->Finish(status);
  }

 protected:
  // Nothing of a call may be touched after its last word; a copy of this says whether that was said.
  const RpcCallHandle& self() const { return self_; }
  Supervisor& supervisor() { return calls_.supervisor(); }

  // What follows is its last word.
  void BeginLastWord() {
    *self_ = nullptr;
    TakeBack();
  }
  virtual void TakeBack() {}

 private:
  RpcCalls& calls_;
  const RpcCallHandle self_;
};

class DiscoverCall final : public ReactorCall<grpc::ServerUnaryReactor> {
 public:
  DiscoverCall(RpcCalls& calls, const CallbackServerContext& context, const v1::DiscoverRequest& request,
               v1::DiscoverResponse* response)
      : ReactorCall(calls), caller_(CallerOf(context)), subject_(SubjectOf(request)), response_(response) {
    if (request.has_timeout()) timeout_ = ReadTimeout(request.timeout());
    const gpr_timespec left = gpr_convert_clock_type(context.raw_deadline(), GPR_TIMESPAN);
    if (timeout_) timeout_ = std::min<Duration>(*timeout_, milliseconds(gpr_time_to_millis(left)));
  }

  void Serve() override {
    if (!subject_) return End(ToStatus(subject_.error()));
    if (!timeout_) return End(ToStatus(timeout_.error()));
    const RpcCallHandle alive = self();
    const Supervisor::Ticket ticket =
        supervisor().Discover(caller_, subject_->job, subject_->group, *timeout_,
                              [this, alive](const Supervisor::Answer<DiscoveryAnswer>& answer) {
                                if (*alive != nullptr) Answer(answer);
                              });
    if (*alive != nullptr) ticket_ = ticket;
  }

 private:
  void Answer(const Supervisor::Answer<DiscoveryAnswer>& answer) {
    if (!answer) return End(ToStatus(answer.error()));
    if (answer->addresses == nullptr) return End({StatusCode::DEADLINE_EXCEEDED, answer->why});
    response_->mutable_addresses()->Assign(answer->addresses->begin(), answer->addresses->end());
    End(Status::OK);
  }

  void TakeBack() override { supervisor().StopDiscovering(ticket_); }

  const Caller caller_;
  const Result<Subject> subject_;
  Result<Duration> timeout_ = kDefaultTimeout;
  v1::DiscoverResponse* const response_;
  Supervisor::Ticket ticket_ = 0;
};

class ReportCall final : public ReactorCall<grpc::ServerUnaryReactor> {
 public:
  ReportCall(RpcCalls& calls, const CallbackServerContext& context, const v1::ReportRequest& request,
             v1::ReportResponse* response)
      : ReactorCall(calls), caller_(CallerOf(context)), request_(request), response_(response) {}

  void Serve() override {
    const Result<Subject> subject = SubjectOf(request_);
    if (!subject) return End(ToStatus(subject.error()));
    const auto group = request_.has_group() ? std::optional(subject->group) : std::nullopt;
    const auto verdict = supervisor().TakeReport(caller_, subject->job, group, [this]() -> Result<Hints> {
      if (!request_.has_hints()) return Invalid("hints: missing");
      return ReadHints(request_.hints());
    });
    if (!verdict) return End(ToStatus(verdict.error()));
    response_->set_verdict(*verdict == ReportVerdict::kUnchanged ? v1::ReportResponse::UNCHANGED
                                                                 : v1::ReportResponse::TAKEN);
    End(Status::OK);
  }

 private:
  const Caller caller_;
  const v1::ReportRequest& request_;  // gRPC keeps both as long as the call.
  v1::ReportResponse* const response_;
};

class WatchCall final : public ReactorCall<grpc::ServerWriteReactor<v1::GroupEvent>> {
 public:
  WatchCall(RpcCalls& calls, const CallbackServerContext& context, const v1::WatchGroupRequest& request)
      : ReactorCall(calls), caller_(CallerOf(context)), subject_(SubjectOf(request)) {}

  void Serve() override {
    if (!subject_) return End(ToStatus(subject_.error()));
    const RpcCallHandle alive = self();
    const Supervisor::Ticket ticket =
        supervisor().WatchGroup(caller_, subject_->job, subject_->group,
                                [this, alive](const Supervisor::Answer<std::string>& reason) {
                                  if (*alive != nullptr) Tell(reason);
                                });
    if (*alive == nullptr) return;
    ticket_ = ticket;
    StartSendInitialMetadata();  // So that the client knows that it is watched.
  }

  bool IsEndless() const override { return true; }

 private:
  void Tell(const Supervisor::Answer<std::string>& reason) {
    if (!reason) return End(ToStatus(reason.error()));
    event_.set_reason(*reason);
    BeginLastWord();
    StartWriteAndFinish(&event_, {}, Status::OK);
  }

  void TakeBack() override { supervisor().StopWatching(ticket_); }

  const Caller caller_;
  const Result<Subject> subject_;
  Supervisor::Ticket ticket_ = 0;
  v1::GroupEvent event_;
};

// Its methods are called on gRPC's threads. A call belongs to itself.
class Service final : public v1::Supervisor::CallbackService {
 public:
  explicit Service(RpcCalls& calls) : calls_(calls) {}

  grpc::ServerUnaryReactor* Discover(CallbackServerContext* context, const v1::DiscoverRequest* request,
                                     v1::DiscoverResponse* response) override {
    return (new DiscoverCall(calls_, *context, *request, response))->Begin();
  }
  grpc::ServerUnaryReactor* Report(CallbackServerContext* context, const v1::ReportRequest* request,
                                   v1::ReportResponse* response) override {
    return (new ReportCall(calls_, *context, *request, response))->Begin();
  }
  grpc::ServerWriteReactor<v1::GroupEvent>* WatchGroup(CallbackServerContext* context,
                                                       const v1::WatchGroupRequest* request) override {
    return (new WatchCall(calls_, *context, *request))->Begin();
  }

 private:
  RpcCalls& calls_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeRpcService(RpcCalls& calls) { return std::make_unique<Service>(calls); }

}  // namespace adaptdl
