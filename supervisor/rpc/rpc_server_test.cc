#include "supervisor/rpc/rpc_server.h"

#include <gmock/gmock.h>

#include "supervisor/rpc/rpc_testing.h"

namespace adaptdl {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kJob;
using testing::kLong;
using ::testing::StartsWith;

class RpcServerTest : public testing::RpcFixture {};

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

}  // namespace
}  // namespace adaptdl
