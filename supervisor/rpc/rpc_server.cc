#include "supervisor/rpc/rpc_server.h"

#include <arpa/inet.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <iostream>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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
// For the last words to leave, after `drain`.
constexpr milliseconds kLastWords{1'000};

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

// One call. gRPC destroys it on a thread of its own some time after its last word, which is said on the
// clock's thread alone.
class Call {
 public:
  virtual ~Call() = default;
  // Called once.
  virtual void Serve() = 0;
  // Its last word. Nobody waits for it any more.
  virtual void End(const Status& status) = 0;
  // Whether it cannot be answered before the server goes.
  virtual bool IsEndless() const { return false; }
};

// What the clock's thread knows a call by: null once its last word is said. Only looked at there.
using CallHandle = std::shared_ptr<Call*>;

// The calls of one server, and what they are served from.
class Calls {
 public:
  Calls(Clock& clock, Supervisor& supervisor) : clock_(clock), supervisor_(supervisor) {}

  Clock& clock() { return clock_; }
  Supervisor& supervisor() { return supervisor_; }

  // From any thread. False: nobody will serve it.
  [[nodiscard]] bool Add(const CallHandle& call) {
    const std::lock_guard lock(mutex_);
    calls_.insert(call);
    return !closed_;
  }
  void Remove(const CallHandle& call) {
    const std::lock_guard lock(mutex_);
    calls_.erase(call);
    if (calls_.empty()) none_left_.notify_all();  // Under the lock: this may be gone right after it.
  }

  // On the clock's thread, as all below.
  void Serve(Call& call) const {
    if (stopping_) return call.End(AboutToEnd());
    call.Serve();
  }
  // Whether it has not been so before.
  bool Stop() { return !std::exchange(stopping_, true); }
  void EndEndless() {
    for (const CallHandle& call : All(/*close=*/false)) {
      if (*call != nullptr && (*call)->IsEndless()) (*call)->End(AboutToEnd());
    }
  }
  void EndAll() { End(All(/*close=*/false)); }
  // The same, and what comes later ends by itself.
  void Close() { End(All(/*close=*/true)); }
  // Until gRPC has let go of each.
  void WaitUntilNone() {
    std::unique_lock lock(mutex_);
    none_left_.wait(lock, [&] { return calls_.empty(); });
  }

 private:
  // A copy: ending one takes it out of the set.
  std::vector<CallHandle> All(bool close) {
    const std::lock_guard lock(mutex_);
    closed_ = closed_ || close;
    return {calls_.begin(), calls_.end()};
  }
  static void End(const std::vector<CallHandle>& calls) {
    for (const CallHandle& call : calls) {
      if (*call != nullptr) (*call)->End(AboutToEnd());
    }
  }

  Clock& clock_;
  Supervisor& supervisor_;
  bool stopping_ = false;
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::set<CallHandle> calls_;
  bool closed_ = false;
};

// What calls have in common; `Reactor` is gRPC's part of it.
template <typename Reactor>
class ReactorCall : public Reactor, public Call {
 public:
  explicit ReactorCall(Calls& calls) : calls_(calls), self_(std::make_shared<Call*>(this)) {}

  // What a method of the service returns.
  Reactor* Begin() {
    if (calls_.Add(self_)) {
      calls_.clock().Post([&calls = calls_, self = self_] {
        if (*self != nullptr) calls.Serve(**self);  // The server is there as long as one of its calls is.
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
    Calls& calls = calls_;
    const CallHandle self = self_;
    delete this;
    calls.Remove(self);
  }

  void End(const Status& status) final {
    BeginLastWord();
    this->Finish(status);
  }

 protected:
  // Nothing of a call may be touched after its last word; a copy of this says whether that was said.
  const CallHandle& self() const { return self_; }
  Supervisor& supervisor() { return calls_.supervisor(); }

  // What follows is its last word.
  void BeginLastWord() {
    *self_ = nullptr;
    TakeBack();
  }
  virtual void TakeBack() {}

 private:
  Calls& calls_;
  const CallHandle self_;
};

class DiscoverCall final : public ReactorCall<grpc::ServerUnaryReactor> {
 public:
  DiscoverCall(Calls& calls, const CallbackServerContext& context, const v1::DiscoverRequest& request,
               v1::DiscoverResponse* response)
      : ReactorCall(calls), caller_(CallerOf(context)), subject_(SubjectOf(request)), response_(response) {
    if (request.has_timeout()) timeout_ = ReadTimeout(request.timeout());
    const gpr_timespec left = gpr_convert_clock_type(context.raw_deadline(), GPR_TIMESPAN);
    if (timeout_) timeout_ = std::min<Duration>(*timeout_, milliseconds(gpr_time_to_millis(left)));
  }

  void Serve() override {
    if (!subject_) return End(ToStatus(subject_.error()));
    if (!timeout_) return End(ToStatus(timeout_.error()));
    const CallHandle alive = self();
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
  ReportCall(Calls& calls, const CallbackServerContext& context, const v1::ReportRequest& request,
             v1::ReportResponse* response)
      : ReactorCall(calls),
        caller_(CallerOf(context)),
        subject_(SubjectOf(request)),
        has_group_(request.has_group()),
        hints_(request.has_hints() ? ReadHints(request.hints()) : Invalid("hints: missing")),
        response_(response) {}

  void Serve() override {
    if (!subject_) return End(ToStatus(subject_.error()));
    const auto group = has_group_ ? std::optional(subject_->group) : std::nullopt;
    const auto verdict = supervisor().TakeReport(caller_, subject_->job, group, [this] { return hints_; });
    if (!verdict) return End(ToStatus(verdict.error()));
    response_->set_verdict(*verdict == ReportVerdict::kUnchanged ? v1::ReportResponse::UNCHANGED
                                                                 : v1::ReportResponse::TAKEN);
    End(Status::OK);
  }

 private:
  const Caller caller_;
  const Result<Subject> subject_;
  const bool has_group_;
  Result<Hints> hints_;
  v1::ReportResponse* const response_;
};

class WatchCall final : public ReactorCall<grpc::ServerWriteReactor<v1::GroupEvent>> {
 public:
  WatchCall(Calls& calls, const CallbackServerContext& context, const v1::WatchGroupRequest& request)
      : ReactorCall(calls), caller_(CallerOf(context)), subject_(SubjectOf(request)) {}

  void Serve() override {
    if (!subject_) return End(ToStatus(subject_.error()));
    const CallHandle alive = self();
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
  explicit Service(Calls& calls) : calls_(calls) {}

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
  Calls& calls_;
};

struct Endpoint {
  std::string name;  // "10.0.0.1:80", "[::1]:80".
  sockaddr_storage address = {};
};

Result<Endpoint> EndpointOf(const RpcServerOptions& options) {
  Endpoint endpoint;
  const std::string port = ":" + std::to_string(options.port);
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(options.port)};
  sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(options.port)};
  if (inet_pton(AF_INET, options.address.c_str(), &v4.sin_addr) == 1) {
    endpoint.name = options.address + port;
    std::memcpy(&endpoint.address, &v4, sizeof v4);
  } else if (inet_pton(AF_INET6, options.address.c_str(), &v6.sin6_addr) == 1) {
    endpoint.name = "[" + options.address + "]" + port;
    std::memcpy(&endpoint.address, &v6, sizeof v6);
  } else {
    return Invalid("address: " + Printable(options.address) + " is not numeric");
  }
  return endpoint;
}

// gRPC does not say why it cannot listen; the system says it again.
std::string WhyNot(const Endpoint& endpoint) {
  const int probe = socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto* address =
      reinterpret_cast<const sockaddr*>(&endpoint.address);  // NOLINT(google-readability-casting)
  const bool fails = probe < 0 || bind(probe, address, sizeof endpoint.address) != 0;
  const std::string why = fails ? ": " + std::generic_category().message(errno) : "";
  if (probe >= 0) close(probe);
  return why;
}

Result<std::shared_ptr<grpc::ServerCredentials>> Credentials(const std::optional<TlsIdentity>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  if (const auto checked = MakeServerTls(*tls); !checked) return tl::unexpected(checked.error());
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({tls->key, tls->certificates});
  return grpc::SslServerCredentials(options);
}

void SetLimits(const RpcServerOptions& options, grpc::ServerBuilder* builder) {
  const auto set = [&](const char* name, std::int64_t value) {
    builder->AddChannelArgument(name, static_cast<int>(value));
  };
  builder->SetMaxReceiveMessageSize(options.message_bytes);
  // A small message could become a large one.
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  set(GRPC_ARG_MAX_METADATA_SIZE, options.metadata_bytes);
  set(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams);
  set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, options.idle_timeout.count());
  set(GRPC_ARG_KEEPALIVE_TIME_MS, options.keepalive.count());
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, options.keepalive_timeout.count());
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // As many as are due: a held call has no data.
  set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, options.least_ping.count());
  set(GRPC_ARG_ALLOW_REUSEPORT, 0);  // Two servers would share a port without a word.
}

}  // namespace

class RpcServer::Core {
 public:
  Core(Clock& clock, Supervisor& supervisor, milliseconds drain)
      : clock_(clock), drain_(drain), calls_(clock, supervisor), service_(calls_) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  ~Core() {
    if (server_ == nullptr) return;
    calls_.Close();
    if (stopper_.joinable()) {
      stopper_.join();
    } else {
      server_->Shutdown(std::chrono::system_clock::now());
    }
    calls_.WaitUntilNone();
  }

  Result<void> Listen(const RpcServerOptions& options) {
    const Result<Endpoint> endpoint = EndpointOf(options);
    if (!endpoint) return tl::unexpected(endpoint.error());
    const auto credentials = Credentials(options.tls);
    if (!credentials) return tl::unexpected(credentials.error());
    grpc::ServerBuilder builder;
    SetLimits(options, &builder);
    builder.AddListeningPort(endpoint->name, *credentials, &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return Fail(ErrorCode::kUnavailable, "cannot listen on " + options.address + " port " +
                                               std::to_string(options.port) + WhyNot(*endpoint));
    }
    return {};
  }

  std::uint16_t port() const { return static_cast<std::uint16_t>(port_); }

  void Stop(std::function<void()> stopped) {
    if (!calls_.Stop()) return;
    stopped_ = std::move(stopped);
    calls_.EndEndless();
    end_ = clock_.After(drain_, [this] { calls_.EndAll(); });
    // gRPC knows no other way than to wait for it.
    stopper_ = std::thread([this, self = std::weak_ptr(self_)] {
      server_->Shutdown(std::chrono::system_clock::now() + drain_ + kLastWords);
      clock_.Post([self] {
        const auto core = self.lock();
        if (core == nullptr) return;
        (*core)->end_.reset();
        if (const auto done = std::exchange((*core)->stopped_, nullptr)) done();
      });
    });
  }

 private:
  Clock& clock_;
  const milliseconds drain_;
  Calls calls_;
  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  Timer end_;
  std::function<void()> stopped_;
  std::thread stopper_;
  const std::shared_ptr<Core*> self_ = std::make_shared<Core*>(this);  // Gone with this.
};

void RpcServer::SilenceLibrary() {
  gpr_set_log_function([](gpr_log_func_args* args) {
    const std::string_view message = args->message;
    if (message.starts_with("assertion failed")) std::cerr << "gRPC: " << message << std::endl;
  });
}

RpcServer::RpcServer(std::unique_ptr<Core> core) : core_(std::move(core)) {}
RpcServer::~RpcServer() = default;

Result<std::unique_ptr<RpcServer>> RpcServer::Start(Clock& clock, Supervisor& supervisor,
                                                    const RpcServerOptions& options) {
  auto core = std::make_unique<Core>(clock, supervisor, options.drain);
  if (const Result<void> listening = core->Listen(options); !listening) {
    return tl::unexpected(listening.error());
  }
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(core)));
}

std::uint16_t RpcServer::port() const { return core_->port(); }

void RpcServer::Stop(std::function<void()> stopped) { core_->Stop(std::move(stopped)); }

}  // namespace adaptdl
