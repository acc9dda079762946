#include "supervisor/rpc/rpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adaptdl/v1/supervisor.grpc.pb.h"
#include "runtime/event_loop.h"
#include "runtime/tls_testing.h"
#include "supervisor/testing_cluster.h"

namespace adaptdl {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr seconds kLong = seconds(60);  // Nothing here takes so long, unless it never happens.
const Key kJob{"team", "mnist"};

Logger Quiet() {
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
class RpcServerTest : public ::testing::Test {
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
                std::optional<milliseconds> deadline = {}) {
    auto call = std::make_shared<Unary<v1::DiscoverResponse>>();
    Authorize(*call, token);
    if (deadline) call->context.set_deadline(std::chrono::system_clock::now() + *deadline);
    auto sent = std::make_shared<const v1::DiscoverRequest>(request);
    stub_->async()->Discover(&call->context, sent.get(), &call->response,
                             [this, call, sent](const grpc::Status& s) { Come(call, s); });
    return call;
  }
  Poll Discover() { return Discover(AboutGroup(0), Token()); }

  Reported Report(const v1::ReportRequest& request, const std::string& token) {
    auto call = std::make_shared<Unary<v1::ReportResponse>>();
    Authorize(*call, token);
    auto sent = std::make_shared<const v1::ReportRequest>(request);
    stub_->async()->Report(&call->context, sent.get(), &call->response,
                           [this, call, sent](const grpc::Status& s) { Come(call, s); });
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
  void Come(const std::shared_ptr<T>& call, const grpc::Status& status) {
    loop_.Post([call, status] {
      call->status = status;
      call->done = true;
    });
  }

  EventLoop loop_;
  testing::PostedCluster cluster_{loop_};
  Metrics metrics_;
  const TokenKeys keys_ = TokenKeys::Parse("0123456789abcdef0123456789abcdef").value();
  SupervisorOptions supervisor_options_;
  std::string uid_;
  std::vector<Key> pods_;
  std::unique_ptr<Supervisor> supervisor_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::Supervisor::Stub> stub_;
};

TEST_F(RpcServerTest, TellsTheAddressesOfACompleteGroup) {
  Serve();
  SetAddress(1);
  const Poll poll = Done(Discover());
  ASSERT_TRUE(poll->status.ok()) << poll->status.error_message();
  EXPECT_THAT(poll->response.addresses(), ElementsAre("10.0.0.0", "10.0.0.1"));
}

TEST_F(RpcServerTest, HoldsACallUntilTheGroupIsComplete) {
  Serve();
  v1::DiscoverRequest request = AboutGroup(0);
  request.clear_timeout();  // There is one all the same, of half a minute.
  const Poll polls[] = {Discover(), Discover(request, Token())};
  WaitForPolls(2);
  EXPECT_FALSE(polls[0]->done);
  SetAddress(1);
  for (const Poll& poll : polls) {
    ASSERT_TRUE(Done(poll)->status.ok()) << poll->status.error_message();
    EXPECT_THAT(poll->response.addresses(), ElementsAre("10.0.0.0", "10.0.0.1"));
  }
}

TEST_F(RpcServerTest, AGroupThatIsNotCompleteInTimeIsToBeAskedForAgain) {
  Serve();
  v1::DiscoverRequest request = AboutGroup(0);
  for (const int nanos : {0, 1'000'000}) {
    request.mutable_timeout()->set_seconds(0);
    request.mutable_timeout()->set_nanos(nanos);
    const Poll poll = Done(Discover(request, Token()));
    EXPECT_EQ(poll->status.error_code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_THAT(poll->status.error_message(), HasSubstr("1 of its 2 replicas"));
  }
}

TEST_F(RpcServerTest, NothingIsHeldBeyondTheDeadlineOfItsCall) {
  Serve();
  const Poll poll = Done(Discover(AboutGroup(0), Token(), milliseconds(100)));
  EXPECT_EQ(poll->status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  WaitForPolls(0);
}

TEST_F(RpcServerTest, NothingIsHeldLongerThanTheSupervisorAllows) {
  supervisor_options_.longest_poll = milliseconds(1);
  Serve();
  EXPECT_EQ(Done(Discover())->status.error_code(), StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(RpcServerTest, AClientThatGoesIsForgotten) {
  Serve();
  const Poll left = Discover();
  const Poll stays = Discover();
  WaitForPolls(2);
  left->context.TryCancel();
  EXPECT_EQ(Done(left)->status.error_code(), StatusCode::CANCELLED);
  WaitForPolls(1);
  EXPECT_THAT(Measured(), HasSubstr("adaptdl_supervisor_poll_seconds_count{result=\"left\"} 1\n"));
  SetAddress(1);
  EXPECT_TRUE(Done(stays)->status.ok());
}

TEST_F(RpcServerTest, AWatcherThatGoesIsForgotten) {
  supervisor_options_.waiting_per_job = 1;
  supervisor_options_.client_rate = supervisor_options_.client_burst = 1e6;
  supervisor_options_.job_rate = supervisor_options_.job_burst = 1e6;
  Serve();
  const auto left = Watched();
  EXPECT_EQ(Done(Watch(Token()))->status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  left->context.TryCancel();
  EXPECT_EQ(Done(left)->status.error_code(), StatusCode::CANCELLED);
  // The server hears of it a little later.
  const Instant end = loop_.Now() + kLong;
  for (bool refused = true; refused;) {
    ASSERT_LT(loop_.Now(), end);
    const Poll poll = Discover();
    Wait(
        [&] { return poll->done || Measured().find("\nadaptdl_supervisor_polls 1\n") != std::string::npos; });
    refused = poll->done;
    if (refused) {
      EXPECT_EQ(poll->status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
    }
    poll->context.TryCancel();
    Done(poll);
  }
}

TEST_F(RpcServerTest, OnlyTheRightTokenOpens) {
  Serve();
  SetAddress(1);
  const std::pair<std::string, StatusCode> cases[] = {
      {Token(), StatusCode::OK},
      {"", StatusCode::UNAUTHENTICATED},
      {"rubbish", StatusCode::PERMISSION_DENIED},
      {std::string(1000, 'x'), StatusCode::PERMISSION_DENIED},
      {Token() + "x", StatusCode::PERMISSION_DENIED},
      {Token(0, {"team", "other"}), StatusCode::PERMISSION_DENIED},
      {Token(0, {"other", "mnist"}), StatusCode::PERMISSION_DENIED},
      {Token(1), StatusCode::PERMISSION_DENIED},
  };
  v1::ReportRequest report = SomeReport();
  report.set_group(0);
  for (const auto& [token, code] : cases) {
    SCOPED_TRACE(token);
    EXPECT_EQ(Done(Discover(AboutGroup(0), token))->status.error_code(), code);
    EXPECT_EQ(Done(Report(report, token))->status.error_code(), code);
    if (code != StatusCode::OK) {
      EXPECT_EQ(Done(Watch(token))->status.error_code(), code);
    }
  }
}

TEST_F(RpcServerTest, AReportGetsIntoTheStatus) {
  Serve();
  const Reported taken = Done(Report(SomeReport(), Token()));
  ASSERT_TRUE(taken->status.ok()) << taken->status.error_message();
  EXPECT_EQ(taken->response.verdict(), v1::ReportResponse::TAKEN);
  Wait([&] { return supervisor_->jobs().Find(kJob)->status.train.has_value(); });
  const Job job = std::get<Job>(cluster_.Read({Kind::kJob, kJob}));
  EXPECT_EQ(job.status.train, (Hints{.init_batch_size = 128, .progress = 12.5}));
  const Reported again = Done(Report(SomeReport(), Token()));
  EXPECT_EQ(again->response.verdict(), v1::ReportResponse::UNCHANGED);
}

TEST_F(RpcServerTest, AReportThatIsNotTakenSaysWhy) {
  Serve();
  v1::ReportRequest request = SomeReport();
  request.set_job("other");
  EXPECT_EQ(Done(Report(request, Token(0, {"team", "other"})))->status.error_code(), StatusCode::NOT_FOUND);
  cluster_.SetStatus({Kind::kJob, kJob}, R"({"group": 1})");
  Wait([&] { return supervisor_->jobs().Find(kJob)->status.group == 1; });
  EXPECT_EQ(Done(Report(SomeReport(), Token()))->status.error_code(), StatusCode::FAILED_PRECONDITION);
}

TEST_F(RpcServerTest, WhatIsWrongIsNamed) {
  Serve();
  const auto expect = [](const grpc::Status& status, const char* field) {
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), StartsWith(field));
  };
  v1::DiscoverRequest discover = AboutGroup(-1);
  expect(Done(Discover(discover, Token()))->status, "group: ");
  discover = AboutGroup(0);
  discover.set_job("../x");
  expect(Done(Discover(discover, Token()))->status, "job: ");
  discover.set_namespace_("a.b");
  expect(Done(Discover(discover, Token()))->status, "namespace: ");
  discover = AboutGroup(0);
  discover.mutable_timeout()->set_seconds(-1);
  expect(Done(Discover(discover, Token()))->status, "timeout: ");
  expect(Done(Watch(Token(), -1))->status, "group: ");

  v1::ReportRequest report = SomeReport();
  report.set_group(-1);
  expect(Done(Report(report, Token()))->status, "group: ");
  report = SomeReport();
  report.clear_hints();
  expect(Done(Report(report, Token()))->status, "hints: ");
  report.mutable_hints()->mutable_perf_params()->set_alpha_c(-1);
  expect(Done(Report(report, Token()))->status, "hints.perfParams.alpha_c: must be at least 0");
  EXPECT_THAT(Measured(), HasSubstr("adaptdl_supervisor_hints_total{result=\"invalid\"} 2\n"));
}

TEST_F(RpcServerTest, TooMuchIsRefused) {
  supervisor_options_.client_burst = 1;
  supervisor_options_.client_rate = 1e-6;
  Serve();
  SetAddress(1);
  EXPECT_TRUE(Done(Discover())->status.ok());
  EXPECT_EQ(Done(Discover())->status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  v1::ReportRequest large = SomeReport();
  large.set_job(std::string(70 * 1024, 'x'));
  const Reported report = Done(Report(large, Token()));
  EXPECT_EQ(report->status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(report->status.error_message(), HasSubstr("larger than max"));
}

TEST_F(RpcServerTest, AWatcherIsToldThatItsGroupEnds) {
  Serve();
  const auto watcher = Watched();
  EXPECT_THAT(watcher->reasons, IsEmpty());
  cluster_.SetStatus({Kind::kJob, kJob}, R"({"allocation": ["n0", "n1", "n2"]})");
  EXPECT_TRUE(Done(watcher)->status.ok()) << watcher->status.error_message();
  EXPECT_THAT(watcher->reasons, ElementsAre("Reallocated"));
  // Also where that was so before.
  const auto late = Done(Watch(Token()));
  EXPECT_TRUE(late->status.ok());
  EXPECT_THAT(late->reasons, ElementsAre("Reallocated"));
}

TEST_F(RpcServerTest, StopsWithAWordForEverybody) {
  Serve();
  const Poll poll = Discover();
  WaitForPolls(1);
  const auto watcher = Watched();
  bool stopped = false;
  bool drained = false;
  server_->Stop([&] { stopped = true; });
  server_->Stop([] { ADD_FAILURE() << "only the first one counts"; });
  EXPECT_EQ(Done(watcher)->status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(watcher->reasons, IsEmpty());
  EXPECT_FALSE(poll->done);
  supervisor_->Drain([&] { drained = true; });
  EXPECT_EQ(Done(poll)->status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(poll->status.error_message(), HasSubstr("about to end"));
  Wait([&] { return stopped && drained; });
  EXPECT_EQ(Done(Discover())->status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(Done(Watch(Token()))->status.error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(RpcServerTest, WhoIsNotAnsweredWhileItStopsIsSentAway) {
  Serve({.drain = milliseconds(0)});
  const Poll poll = Discover();
  WaitForPolls(1);
  bool stopped = false;
  server_->Stop([&] {
    server_.reset();
    stopped = true;
  });
  EXPECT_EQ(Done(poll)->status.error_code(), StatusCode::UNAVAILABLE);
  WaitForPolls(0);
  Wait([&] { return stopped; });
}

TEST_F(RpcServerTest, ItsEndCutsOffWhatIsLeft) {
  Serve();
  const Poll poll = Discover();
  WaitForPolls(1);
  const auto watcher = Watched();
  const Poll unserved = Discover();
  server_.reset();
  WaitForPolls(0);
  EXPECT_FALSE(Done(poll)->status.ok());
  EXPECT_FALSE(Done(unserved)->status.ok());
  EXPECT_FALSE(Done(watcher)->status.ok());
}

TEST_F(RpcServerTest, ItsEndWhileItStops) {
  Serve();
  const Poll poll = Discover();
  WaitForPolls(1);
  server_->Stop([] { ADD_FAILURE() << "nobody is there to be told"; });
  server_.reset();
  EXPECT_EQ(Done(poll)->status.error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(RpcServerTest, SpeaksTls) {
  const TlsIdentity identity = MakeIdentity("localhost");
  Serve({.tls = identity});
  SetAddress(1);
  EXPECT_FALSE(Done(Discover())->status.ok());  // In the clear.
  Connect(grpc::SslCredentials({.pem_root_certs = identity.certificates}));
  const Poll poll = Done(Discover());
  EXPECT_TRUE(poll->status.ok()) << poll->status.error_message();
}

TEST_F(RpcServerTest, DoesNotStartWhereItCannotServe) {
  Serve();
  const auto start = [&](const RpcServerOptions& options) {
    const auto server = RpcServer::Start(loop_, *supervisor_, options);
    EXPECT_FALSE(server);
    return server ? Error() : server.error();
  };
  const Error taken = start({.address = "127.0.0.1", .port = server_->port()});
  EXPECT_EQ(taken.code, ErrorCode::kUnavailable);
  EXPECT_THAT(taken.message,
              HasSubstr("127.0.0.1 port " + std::to_string(server_->port()) + ": Address already in use"));
  EXPECT_THAT(start({.address = "localhost"}).message, HasSubstr("address: localhost is not numeric"));
  const TlsIdentity mixed{.certificates = MakeIdentity("a").certificates, .key = MakeIdentity("b").key};
  EXPECT_THAT(start({.address = "127.0.0.1", .tls = mixed}).message, HasSubstr("TLS key: "));
}

}  // namespace
}  // namespace adaptdl
