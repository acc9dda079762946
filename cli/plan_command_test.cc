#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "api/json.h"
#include "api/snapshot.h"
#include "cli/cli_testing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kSnapshot = R"({
  "jobs": {
    "grows": {"resources": {"nvidia.com/gpu": 1}, "init_batch_size": 128, "max_batch_size": 4096,
              "local_bsz_bounds": [32, 1024], "max_replicas": 8, "attained_service": 100, "age": 900,
              "perf_params": [0.016, 0.00065, 0.135, 0.002, 0.026, 0.0008, 2.1], "grad_params": [0.06, 3.5]},
    "runs": {"resources": {"nvidia.com/gpu": 1}, "max_replicas": 1, "age": 900, "attained_service": 900}},
  "nodes": {"node-1": {"resources": {"nvidia.com/gpu": 4}}, "node-2": {"resources": {"nvidia.com/gpu": 4}}},
  "base_allocations": {"runs": ["node-1"]}})";

nlohmann::json Json(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text) : path_(testing::TempDir() + name) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Plan, JsonHasEveryJobAndFitsTheNodes) {
  const nlohmann::json plan = Json(Adaptdl({"plan", "-", "--json"}, kSnapshot));
  EXPECT_EQ(plan.size(), 4);
  EXPECT_TRUE(plan["objective"].is_number());
  EXPECT_EQ(plan["desired_nodes"], 2);
  EXPECT_TRUE(plan["reasons"].is_object());
  ASSERT_EQ(plan["allocation"].size(), 2);
  EXPECT_EQ(plan["allocation"]["runs"].size(), 1);
  EXPECT_GE(plan["allocation"]["grows"].size(), 1);
  EXPECT_LE(plan["allocation"]["grows"].size(), 7);
}

TEST(Plan, AJobThatWaitsHasAnEmptyList) {
  const char* full = R"({"jobs": {"big": {"resources": {"nvidia.com/gpu": 9}}},
                         "nodes": {"n": {"resources": {"nvidia.com/gpu": 8}}}})";
  EXPECT_EQ(Json(Adaptdl({"plan", "-", "--json"}, full))["allocation"].dump(), R"({"big":[]})");
  EXPECT_THAT(Adaptdl({"plan", "-"}, full).out, AllOf(HasSubstr("waits"), HasSubstr("0 of 8 GPUs")));
  EXPECT_THAT(Adaptdl({"--color", "always", "plan", "-"}, full).out, HasSubstr("\x1b[31mwaits"));
}

TEST(Plan, NothingToPlanIsAPlan) {
  const char* empty = R"({"jobs": {}, "nodes": {}})";
  EXPECT_EQ(Json(Adaptdl({"plan", "-", "--json"}, empty))["allocation"].dump(), "{}");
  EXPECT_THAT(Adaptdl({"plan", "-"}, empty).out, HasSubstr("0 of 0 nodes"));
}

TEST(Plan, EqualSeedsGiveEqualBytes) {
  for (const char* objective : {"completion", "release", "paper"}) {
    const std::vector<std::string> args = {"plan", "-", "--json", "--seed", "7", "--objective", objective};
    const Outcome first = Adaptdl(args, kSnapshot);
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(Adaptdl(args, kSnapshot).out, first.out);
  }
  EXPECT_EQ(Adaptdl({"plan", "-"}, kSnapshot).out, Adaptdl({"plan", "-", "--seed", "0"}, kSnapshot).out);
}

TEST(Plan, TableTellsBeforeAndAfter) {
  const Outcome plan = Adaptdl({"plan", "-"}, kSnapshot);
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, StartsWith("JOB"));
  EXPECT_THAT(plan.out, AllOf(HasSubstr("BEFORE"), HasSubstr("AFTER"), HasSubstr("1 on 1 node"),
                              HasSubstr("of 8 GPUs on "), HasSubstr("2 running, 0 waiting"),
                              HasSubstr("2 nodes desired")));
  EXPECT_THAT(plan.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(Adaptdl({"--color", "always", "plan", "-"}, kSnapshot).out, HasSubstr("\x1b[32m"));
}

TEST(Plan, WhatIfShowsBothPlans) {
  const Outcome plan = Adaptdl({"plan", "-", "--add-nodes", "2", "--remove-node", "node-1"}, kSnapshot);
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, AllOf(HasSubstr("NOW"), HasSubstr("PLAN"), HasSubstr("WHAT IF"), HasSubstr("WAITING"),
                              HasSubstr("of 8"), HasSubstr("of 12")));
}

TEST(Plan, WhatIfWithJsonIsTheChangedPlan) {
  const TemporaryFile job("plan_job.json",
                          R"({"new": {"resources": {"nvidia.com/gpu": 1}, "max_replicas": 1}})");
  const nlohmann::json plan =
      Json(Adaptdl({"plan", "-", "--json", "--add-job", job.path(), "--remove-node", "node-1"}, kSnapshot));
  ASSERT_EQ(plan["allocation"].size(), 3);
  EXPECT_EQ(plan["allocation"]["new"].size(), 1);
  for (const auto& nodes : plan["allocation"]) EXPECT_THAT(nodes, testing::Each("node-2"));

  Snapshot same = ParseSnapshot(kSnapshot).value();
  same.nodes.erase("node-1");
  EXPECT_EQ(Adaptdl({"plan", "-", "--json"}, ToText(Encode(same))).out,
            Adaptdl({"plan", "-", "--json", "--remove-node", "node-1"}, kSnapshot).out);
}

TEST(Plan, JobsAreTakenFromAFileOrFromStandardInput) {
  const TemporaryFile snapshot("plan_snapshot.json", kSnapshot);
  const Outcome plan =
      Adaptdl({"plan", snapshot.path(), "--add-job", "-"},
              R"({"kind": "AdaptDLJob", "metadata": {"name": "bert"}, "spec": {"template": {"spec":
                                  {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}})");
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("\nbert "));
}

TEST(Plan, WrongUsageIsTwo) {
  struct Case {
    std::vector<std::string> args;
    std::string expect;
  };
  const std::vector<Case> cases = {
      {{"plan"}, "SNAPSHOT"},
      {{"plan", "-", "--policy", "best"}, "--policy"},
      {{"plan", "-", "--objective", "fame"}, "--objective"},
      {{"plan", "-", "--seed", "-1"}, "--seed"},
      {{"plan", "-", "--effort", "0"}, "--effort"},
      {{"plan", "-", "--effort", "nan"}, "--effort"},
      {{"plan", "-", "--add-nodes", "0"}, "--add-nodes"},
      {{"plan", "-", "--min-nodes", "1"}, "--max-nodes"},
      {{"plan", "-", "--min-nodes", "3", "--max-nodes", "2"}, "--max-nodes"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = Adaptdl(c.args, kSnapshot);
    EXPECT_EQ(outcome.code, 2) << c.expect;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("adaptdl: "), HasSubstr(c.expect)));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(Plan, WhatDoesNotWorkIsOne) {
  struct Case {
    std::vector<std::string> args;
    std::string input;
    std::string expect;
  };
  const std::vector<Case> cases = {
      {{"plan", "/no/such/file"}, "", "/no/such/file: No such file"},
      {{"plan", "/"}, "", "/: Is a directory"},
      {{"plan", "-"}, "", "standard input: line 1"},
      {{"plan", "-"}, R"({"jobs": {}})", "standard input: nodes: missing"},
      {{"plan", "-"},
       R"({"jobs": {"a": {"resources": {"x": -1}}}, "nodes": {}})",
       "standard input: jobs.a.resources.x"},
      {{"plan", "-", "--remove-node", "node-9"}, kSnapshot, "node-9: no such node"},
      {{"plan", "-", "--add-nodes", "1"}, R"({"jobs": {}, "nodes": {}})", "--add-nodes: "},
      {{"plan", "-", "--add-job", "/no/such/file"}, kSnapshot, "/no/such/file: No such file"},
      {{"plan", "-", "--add-job", "-"}, kSnapshot, "standard input: line 1"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = Adaptdl(c.args, c.input);
    EXPECT_EQ(outcome.code, 1) << c.expect;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("adaptdl: "), HasSubstr(c.expect)));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

}  // namespace
}  // namespace adaptdl
