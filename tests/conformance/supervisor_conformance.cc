#include "tests/conformance/supervisor_conformance.h"

#include <gmock/gmock.h>

#include "api/json.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kHints = R"({
  "initBatchSize": 128, "localBszBounds": [32, 1024], "globalBatchSize": null, "maxBatchSize": 4096,
  "maxProfiledReplicas": 4, "gradientAccumulation": true, "gradParams": {"norm": 0.125, "var": 4.0},
  "perfParams": {"alpha_c": 0.1, "beta_c": 0.01, "alpha_n": 1e-08, "beta_n": 1.1e-08, "alpha_r": 1e-08,
                 "beta_r": 0, "gamma": 1.001}, "other": {"unknown": 1}})";

#define EXPECT_ADDRESSES(exchange, expected)                              \
  ASSERT_TRUE(RunUntil([&] { return (exchange)->answer.has_value(); }));  \
  EXPECT_EQ((exchange)->answer->status, 200) << (exchange)->answer->body; \
  EXPECT_EQ((exchange)->answer->content_type, "application/json");        \
  EXPECT_EQ((exchange)->answer->body, expected)

TEST_P(SupervisorTable, AddressesAreToldOnceAllAreThere) {
  MakeJob("a", 0);
  const auto early = Discover("a", 0);
  MakePod("a", 0, 1, 3, "10.1.0.1");
  MakePod("a", 0, 0, 3);
  MakePod("a", 0, 2, 3, "10.1.0.2");
  CatchUp();
  const auto late = Discover("a", 0);
  EXPECT_FALSE(early->answer);
  EXPECT_FALSE(late->answer);
  SetAddress("a", 0, 0, "10.1.0.3");
  EXPECT_ADDRESSES(early, R"(["10.1.0.3","10.1.0.1","10.1.0.2"])");
  EXPECT_ADDRESSES(late, R"(["10.1.0.3","10.1.0.1","10.1.0.2"])");
  const auto after = Discover("a", 0, "0");
  EXPECT_ADDRESSES(after, R"(["10.1.0.3","10.1.0.1","10.1.0.2"])");
}

TEST_P(SupervisorTable, AddressesOfEitherFamily) {
  MakeJob("a", 0);
  MakePod("a", 0, 0, 2, "fd00::1");
  MakePod("a", 0, 1, 2, "fd00::2");
  const auto exchange = Discover("a", 0);
  EXPECT_ADDRESSES(exchange, R"(["fd00::1","fd00::2"])");
}

TEST_P(SupervisorTable, AJobThatIsNotThereYetIsWaitedFor) {
  StartSupervisor(AuthMode::kOff);  // Nobody could have a token yet.
  const auto exchange = Send("GET", "/discover/" + name_space() + "/a/0");
  CatchUp();
  EXPECT_FALSE(exchange->answer);
  MakeJob("a", 0);
  MakePod("a", 0, 0, 1, "10.1.0.1");
  EXPECT_ADDRESSES(exchange, R"(["10.1.0.1"])");
}

TEST_P(SupervisorTable, WhatDoesNotComeInTimeIsToBeAskedForAgain) {
  MakeJob("a", 1);
  MakePod("a", 0, 0, 1, "10.1.0.1");  // Of an older group.
  MakePod("a", 1, 0, 2, "10.1.0.2");
  MakePod("a", 1, 1, 2);
  CatchUp();
  for (const char* timeout : {"0", "0.5", "1"}) {
    const auto exchange = Discover("a", 1, timeout);
    ASSERT_TRUE(RunUntil([&] { return exchange->answer.has_value(); }));
    EXPECT_EQ(exchange->answer->status, 408);
    EXPECT_EQ(exchange->answer->body, R"({"error":"1 of its 2 replicas have an address"})");
  }
}

TEST_P(SupervisorTable, AGroupThatIsReplacedMeanwhileIsNotAnswered) {
  MakeJob("a", 0);
  MakePod("a", 0, 0, 2, "10.1.0.1");
  MakePod("a", 0, 1, 2);
  const auto exchange = Discover("a", 0, "3");
  SetStatus("a", R"({"group": 1})");
  CatchUp();
  SetAddress("a", 0, 1, "10.1.0.2");
  ASSERT_TRUE(RunUntil([&] { return exchange->answer.has_value(); }));
  EXPECT_EQ(exchange->answer->status, 408);
  EXPECT_THAT(exchange->answer->body, HasSubstr("group 1 has taken its place"));
}

TEST_P(SupervisorTable, TwoPodsOfARankAreNotChosenFrom) {
  MakeJob("a", 0);
  MakePod("a", 0, 0, 1, "10.1.0.1");
  MakePod("a", 0, 0, 1, "10.1.0.2", "-again");
  CatchUp();
  const auto exchange = Discover("a", 0);
  EXPECT_FALSE(exchange->answer);
  RemovePod("a", 0, 0, "-again");
  EXPECT_ADDRESSES(exchange, R"(["10.1.0.1"])");
}

TEST_P(SupervisorTable, ALaterJobOfTheSameNameIsAnother) {
  MakeJob("a", 0);
  const std::string old_path = TokenPath("a", 0);
  ASSERT_TRUE(Delete({.ref = JobRef("a")}));
  ASSERT_TRUE(RunUntilGone(JobRef("a")));
  MakeJob("a", 0);
  MakePod("a", 0, 0, 1, "10.1.0.1");
  CatchUp();
  const auto old_one = Send("GET", old_path + "/discover/" + name_space() + "/a/0?timeout=0");
  EXPECT_EQ(old_one->answer->status, 408);
  EXPECT_EQ(Ask("PUT", old_path + "/hints/" + name_space() + "/a", kHints).status, 409);
  const auto exchange = Discover("a", 0);
  EXPECT_ADDRESSES(exchange, R"(["10.1.0.1"])");
}

TEST_P(SupervisorTable, ASupervisorThatComesBackKnowsWhatTheOneBeforeKnew) {
  MakeJob("a", 0);
  MakePod("a", 0, 0, 1);
  const auto lost = Discover("a", 0);
  StartSupervisor();
  const auto again = Discover("a", 0);
  SetAddress("a", 0, 0, "10.1.0.1");
  EXPECT_ADDRESSES(again, R"(["10.1.0.1"])");
}

TEST_P(SupervisorTable, WhoLeavesIsForgotten) {
  MakeJob("a", 0);
  CatchUp();
  const auto exchange = Discover("a", 0);
  ASSERT_TRUE(exchange->gone);
  exchange->gone();
  MakePod("a", 0, 0, 1, "10.1.0.1");
  CatchUp();
  EXPECT_EQ(exchange->answer->status, 500);  // As a server words it for a request that nobody keeps.
}

TEST_P(SupervisorTable, BeforeItEndsEverybodyIsAnswered) {
  MakeJob("a", 0);
  const auto waits = Discover("a", 0);
  bool drained = false;
  supervisor().Drain([&] { drained = true; });
  ASSERT_TRUE(waits->answer);
  EXPECT_EQ(waits->answer->status, 408);
  const auto late = Discover("a", 0);
  EXPECT_EQ(late->answer->status, 408);
  EXPECT_TRUE(RunUntil([&] { return drained; }));
}

TEST_P(SupervisorTable, NobodyLearnsAboutAnothersJob) {
  MakeJob("a", 0);
  MakeJob("b", 0);
  MakePod("b", 0, 0, 1, "10.1.0.1");
  CatchUp();
  const std::string at_b = "/discover/" + name_space() + "/b/0";
  const std::string hints_of_b = "/hints/" + name_space() + "/b";
  EXPECT_EQ(Ask("GET", at_b).status, 401);
  EXPECT_EQ(Ask("GET", TokenPath("a", 0) + at_b).status, 403);
  EXPECT_EQ(Ask("GET", TokenPath("b", 1) + at_b).status, 403);  // Of another group.
  EXPECT_EQ(Ask("GET", "/t/rubbish" + at_b).status, 403);
  EXPECT_EQ(Ask("GET", TokenPath("b", 0) + at_b).status, 200);
  EXPECT_EQ(Ask("PUT", hints_of_b, kHints).status, 401);
  EXPECT_EQ(Ask("PUT", TokenPath("a", 0) + hints_of_b, kHints).status, 403);
  EXPECT_EQ(Ask("PUT", TokenPath("a", 0) + hints_of_b, "rubbish").status, 403);  // Not even read.
  const std::string token = TokenPath("b", 0).substr(3);
  const auto by_header = Send("GET", at_b, "", {{"authorization", "Bearer " + token}});
  EXPECT_EQ(by_header->answer->status, 200);
  CatchUp();
  EXPECT_FALSE(Read("b").status.train);
  StartSupervisor(AuthMode::kOptional);
  EXPECT_EQ(Ask("GET", at_b).status, 200);
  EXPECT_EQ(Ask("GET", TokenPath("a", 0) + at_b).status, 403);
  StartSupervisor(AuthMode::kOff);
  EXPECT_EQ(Ask("GET", at_b).status, 200);
  EXPECT_EQ(Ask("GET", TokenPath("a", 0) + at_b).status, 200);
}

TEST_P(SupervisorTable, HintsGoToTheJobAndNothingElseChanges) {
  MakeJob("a", 2);
  CatchUp();
  const Job before = Read("a");
  const HttpResponse answer = Report("a", 2, kHints);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"result":"taken"})");
  ASSERT_TRUE(RunUntil([&] {
    return supervisor().jobs().Find({name_space(), "a"})->status.train.has_value();
  }));
  Job after = Read("a");
  EXPECT_EQ(after.status.train, ParseHints(kHints).value());
  after.status.train.reset();
  EXPECT_EQ(after.status, before.status);
  EXPECT_EQ(after.spec, before.spec);
  const HttpResponse again = Report("a", 2, kHints);
  EXPECT_EQ(again.body, R"({"result":"unchanged"})");
  CatchUp();
  EXPECT_EQ(Read("a").metadata.resource_version, after.metadata.resource_version);
}

TEST_P(SupervisorTable, AReportReplacesTheOneBefore) {
  MakeJob("a", 0);
  CatchUp();
  EXPECT_EQ(Report("a", 0, kHints).status, 200);
  EXPECT_EQ(Report("a", 0, R"({"initBatchSize": 64, "perfParams": null})").status, 200);
  const Hints last = ParseHints(R"({"initBatchSize": 64})").value();
  ASSERT_TRUE(RunUntil([&] { return supervisor().jobs().Find({name_space(), "a"})->status.train == last; }));
}

TEST_P(SupervisorTable, AnOlderGroupsReportNeverReplacesANewersOne) {
  MakeJob("a", 2);
  CatchUp();
  EXPECT_EQ(Report("a", 1, kHints).status, 409);
  EXPECT_EQ(Report("a", 2, R"({"initBatchSize": 64})").status, 200);
  // The next group has begun, which the supervisor has not seen yet when a late report comes.
  SetStatus("a", R"({"group": 3, "train": {"initBatchSize": 32}})");
  Send("PUT", TokenPath("a", 2) + "/hints/" + name_space() + "/a", kHints);
  CatchUp();
  CatchUp();
  EXPECT_EQ(Read("a").status.train->init_batch_size, 32);
  EXPECT_EQ(Report("a", 2, kHints).status, 409);
}

TEST_P(SupervisorTable, WhatIsWrongIsNamedAndNothingIsWritten) {
  MakeJob("a", 0);
  CatchUp();
  const std::string job = "/hints/" + name_space() + "/a";
  const std::string poll = "/discover/" + name_space() + "/a/";
  struct Case {
    std::string method, target, body;
    int status;
    const char* message;
  };
  const Case cases[] = {
      {"PUT", job, R"({"initBatchSize": 128, "maxBatchSize": -1})", 400, "maxBatchSize: must be"},
      {"PUT", job, R"({"perfParams": {"alpha_c": NaN}})", 400, "line 1"},
      {"PUT", job, R"({"gradParams": {"norm": 1}})", 400, "gradParams.var: missing"},
      {"PUT", job, "[]", 400, "expected an object"},
      {"PUT", job, "", 400, ""},
      {"PUT", job + "?group=-1", "{}", 400, "group: "},
      {"PUT", job + "?group=1", "{}", 403, "another group"},
      {"PUT", "/hints/" + name_space() + "/A", "{}", 400, "job: "},
      {"PUT", "/hints/-/a", "{}", 400, "namespace: "},
      {"PUT", "/hints/a", "{}", 404, "no such path"},
      {"POST", job, "{}", 405, "only PUT"},
      {"GET", poll + "x", "", 400, "group: "},
      {"GET", poll + "0?timeout=soon", "", 400, "timeout: "},
      {"GET", poll + "0?timeout=-1", "", 400, "timeout: "},
      {"GET", poll + "0?timeout=nan", "", 400, "timeout: "},
      {"PUT", poll + "0", "", 405, "only GET"},
      {"GET", "/", "", 404, "no such path"},
  };
  for (const Case& one : cases) {
    const HttpResponse answer = Ask(one.method, TokenPath("a", 0) + one.target, one.body);
    EXPECT_EQ(answer.status, one.status) << one.target << " " << one.body;
    EXPECT_EQ(answer.content_type, "application/json");
    const auto parsed = ParseJson(answer.body);
    ASSERT_TRUE(parsed) << answer.body;
    EXPECT_THAT((*parsed)["error"].get<std::string>(), HasSubstr(one.message)) << one.target << one.body;
  }
  EXPECT_EQ(Ask("GET", "/healthz").status, 200);
  CatchUp();
  EXPECT_FALSE(Read("a").status.train);
}

TEST_P(SupervisorTable, ReportsAboutNothingAreRefused) {
  EXPECT_EQ(Report("nobody", 0, kHints).status, 404);
  MakeJob("a", 0);
  SetStatus("a", R"({"phase": "Succeeded"})");
  CatchUp();
  EXPECT_EQ(Report("a", 0, kHints).status, 409);
}

TEST_P(SupervisorTable, ReplicasAreToldThatTheirGroupEnds) {
  MakeJob("a", 0);
  SetStatus("a", R"({"phase": "Running", "replicas": 1, "allocation": ["n0"]})");
  MakePod("a", 0, 0, 1, "10.1.0.1");
  CatchUp();
  std::optional<std::string> told;
  const Caller caller{.token = TokenPath("a", 0).substr(3), .address = "10.1.0.1"};
  const auto ticket = supervisor().WatchGroup(caller, {name_space(), "a"}, 0,
                                              [&](const Supervisor::Answer<std::string>& reason) {
                                                told = reason ? *reason : reason.error().message;
                                              });
  EXPECT_NE(ticket, 0U);
  CatchUp();
  EXPECT_FALSE(told);
  SetStatus("a", R"({"allocation": ["n0", "n1"]})");
  EXPECT_TRUE(RunUntil([&] { return told.has_value(); }));
  EXPECT_EQ(told, "Reallocated");
}

}  // namespace
}  // namespace adaptdl
