// For tests of the gRPC server: a supervisor with one job of two replicas, served on 127.0.0.1, and clients.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adaptdl/v1/supervisor.grpc.pb.h"
#include "runtime/event_loop.h"
#include "supervisor/rpc/rpc_server.h"
#include "supervisor/testing_cluster.h"

namespace adaptdl::testing {

inline constexpr std::chrono::seconds kLong{60};  // Nothing here takes so long, unless it never happens.
inline const Key kJob{"team", "mnist"};

inline Logger Quiet() {
  return Logger("test", {.sink = [](std::string_view) {}});
}

// A call of a client. What came back is there once `done`, on the loop's thread.
template <typename Response>
struct Unary {
  grpc::ClientContext context;
  Response response;
  grpc::Status status;
  bool done = false;
};

class Watcher : public grpc::ClientReadReactor<v1::GroupEvent> {
 public:
  explicit Watcher(Clock& clock) : clock_(clock) {}

  void Begin(v1::Supervisor::Stub& stub, std::shared_ptr<Watcher> self) {
    self_ = std::move(self);
    stub.async()->WatchGroup(&context, &request, this);
    StartRead(&event_);
    StartCall();
  }
  void OnReadInitialMetadataDone(bool ok) override {
    clock_.Post([self = self_, ok] { self->watched = ok; });
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    clock_.Post([self = self_, reason = event_.reason()] { self->reasons.push_back(reason); });
    StartRead(&event_);
  }
  void OnDone(const grpc::Status& end) override {
    clock_.Post([self = std::move(self_), end] {
      self->status = end;
      self->done = true;
    });
  }

  grpc::ClientContext context;
  v1::WatchGroupRequest request;
  // On the loop's thread.
  bool watched = false;
  std::vector<std::string> reasons;
  grpc::Status status;
  bool done = false;

 private:
  Clock& clock_;
  v1::GroupEvent event_;
  std::shared_ptr<Watcher> self_;  // Until gRPC has let go of it.
};

// The test's thread is the loop's: nothing happens but while the test waits.
class RpcFixture : public ::testing::Test {
 protected:
  using Poll = std::shared_ptr<Unary<v1::DiscoverResponse>>;
  using Reported = std::shared_ptr<Unary<v1::ReportResponse>>;

  static void SetUpTestSuite() { RpcServer::SilenceLibrary(); }

  void Serve(const RpcServerOptions& options = {}) {
    uid_ = cluster_.CreateJob(kJob);
    cluster_.SetStatus({Kind::kJob, kJob},
                       R"({"phase": "Running", "group": 0, "replicas": 2, "allocation": ["n0", "n1"]})");
    for (const int rank : {0, 1}) {
      pods_.push_back(cluster_.CreateReplica(
          kJob,
          {.group = 0, .rank = rank, .replicas = 2, .node = "n" + std::to_string(rank), .hostname = ""}));
    }
    SetAddress(0);
    supervisor_options_.keys = keys_;
    supervisor_ = std::make_unique<Supervisor>(loop_, cluster_, supervisor_options_, Quiet(),
                                               SupervisorMetrics::Make(metrics_).value());
    Wait([&] { return supervisor_->ready(); });
    RpcServerOptions local = options;
    local.address = "127.0.0.1";
    auto server = RpcServer::Start(loop_, *supervisor_, local);
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    Connect(grpc::InsecureChannelCredentials());
  }
  void Connect(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride("localhost");
    stub_ = v1::Supervisor::NewStub(grpc::CreateCustomChannel(
        "ipv4:127.0.0.1:" + std::to_string(server_->port()), credentials, arguments));
  }

  void Wait(const std::function<bool()>& holds) { ASSERT_TRUE(loop_.RunUntil(holds, kLong)); }
  template <typename T>
  T Done(T call) {
    Wait([&] { return call->done; });
    return call;
  }

  void SetAddress(int rank) {
    cluster_.SetStatus({Kind::kPod, pods_.at(static_cast<std::size_t>(rank))},
                       R"({"podIP": "10.0.0.)" + std::to_string(rank) + "\"}");
  }

  std::string Token(std::int64_t group = 0, const Key& job = kJob) const {
    return keys_.Seal({.name_space = job.name_space, .job = job.name, .uid = uid_, .group = group});
  }
  template <typename Call>
  void Authorize(Call& call, const std::string& token) const {
    if (!token.empty()) call.context.AddMetadata("authorization", "Bearer " + token);
    call.context.set_wait_for_ready(false);
  }

  v1::DiscoverRequest AboutGroup(std::int64_t group) const {
    v1::DiscoverRequest request;
    request.set_namespace_(kJob.name_space);
    request.set_job(kJob.name);
    request.set_group(group);
    request.mutable_timeout()->set_seconds(kLong.count());
    return request;
  }
  Poll Discover(const v1::DiscoverRequest& request, const std::string& token,
                std::optional<std::chrono::milliseconds> deadline = {}) {
    auto call = std::make_shared<Unary<v1::DiscoverResponse>>();
    Authorize(*call, token);
    if (deadline) call->context.set_deadline(std::chrono::system_clock::now() + *deadline);
    auto sent = std::make_shared<const v1::DiscoverRequest>(request);
    stub_->async()->Discover(&call->context, sent.get(), &call->response,
                             [call, sent](const grpc::Status& s) { Come(call, s); });
    return call;
  }
  Poll Discover() { return Discover(AboutGroup(0), Token()); }

  Reported Report(const v1::ReportRequest& request, const std::string& token) {
    auto call = std::make_shared<Unary<v1::ReportResponse>>();
    Authorize(*call, token);
    auto sent = std::make_shared<const v1::ReportRequest>(request);
    stub_->async()->Report(&call->context, sent.get(), &call->response,
                           [call, sent](const grpc::Status& s) { Come(call, s); });
    return call;
  }
  v1::ReportRequest SomeReport() const {
    v1::ReportRequest request;
    request.set_namespace_(kJob.name_space);
    request.set_job(kJob.name);
    request.mutable_hints()->set_init_batch_size(128);
    request.mutable_hints()->set_progress(12.5);
    return request;
  }

  std::shared_ptr<Watcher> Watch(const std::string& token, std::int64_t group = 0) {
    auto watcher = std::make_shared<Watcher>(loop_);
    Authorize(*watcher, token);
    watcher->request.set_namespace_(kJob.name_space);
    watcher->request.set_job(kJob.name);
    watcher->request.set_group(group);
    watcher->Begin(*stub_, watcher);
    return watcher;
  }
  std::shared_ptr<Watcher> Watched() {
    auto watcher = Watch(Token());
    Wait([&] { return watcher->watched; });
    EXPECT_FALSE(watcher->done) << watcher->status.error_message();
    return watcher;
  }

  std::string Measured() const {
    supervisor_->Measure();
    return metrics_.Render();
  }
  void WaitForPolls(int count) {
    Wait([&] {
      return Measured().find("\nadaptdl_supervisor_polls " + std::to_string(count) + "\n") !=
             std::string::npos;
    });
  }

  template <typename T>
  static void Come(const std::shared_ptr<T>& call, const grpc::Status& status) {
    Loop().Post([call, status] {
      call->status = status;
      call->done = true;
    });
  }

  // One for all tests, and never destroyed: gRPC's threads may still be on their way out of Post.
  static EventLoop& Loop() {
    static auto* const loop = new EventLoop;
    return *loop;
  }

  EventLoop& loop_ = Loop();
  PostedCluster cluster_{loop_};
  Metrics metrics_;
  const TokenKeys keys_ = TokenKeys::Parse("0123456789abcdef0123456789abcdef").value();
  SupervisorOptions supervisor_options_;
  std::string uid_;
  std::vector<Key> pods_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::Supervisor::Stub> stub_;
};

}  // namespace adaptdl::testing
