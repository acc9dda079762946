#include "cli/cli.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <streambuf>

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

constexpr const char* kProfile = R"([
  {"num_nodes": 1, "num_replicas": 1, "atomic_bsz": 64, "accum_step_time": 0.48, "optim_step_time": 0.48},
  {"num_nodes": 1, "num_replicas": 2, "atomic_bsz": 128, "accum_step_time": 0.85, "optim_step_time": 0.87},
  {"num_nodes": 2, "num_replicas": 4, "atomic_bsz": 64, "accum_step_time": 0.49, "optim_step_time": 0.55}])";

constexpr const char* kHints = R"({
  "initBatchSize": 128, "maxBatchSize": 1280, "localBszBounds": [64, 256], "gradientAccumulation": true,
  "gradParams": {"norm": 0.00136, "var": 0.000502},
  "perfParams": {"alpha_c": 0.121, "beta_c": 0.00568, "alpha_n": 0.0236, "beta_n": 0.00634, "alpha_r": 0.0118,
                 "beta_r": 0.00317, "gamma": 1.14}})";

TEST(Cli, HelpListsTheCommands) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{}, {"--help"}, {"-h"}}) {
    const Outcome help = Adaptdl(args);
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, AllOf(HasSubstr("fit "), HasSubstr("predict "), HasSubstr("plan "),
                                HasSubstr("sim "), HasSubstr("--color"), HasSubstr("--print-config")));
    EXPECT_THAT(help.err, IsEmpty());
  }
}

TEST(Cli, EveryCommandHasHelp) {
  for (const char* command : {"fit", "predict", "plan", "sim"}) {
    const Outcome help = Adaptdl({command, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, AllOf(HasSubstr(std::string("adaptdl ") + command), HasSubstr("--json")));
  }
}

TEST(Cli, Version) {
  EXPECT_THAT(Adaptdl({"--version"}).out, testing::MatchesRegex("adaptdl [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Cli, PrintConfigTellsWhereValuesComeFrom) {
  EXPECT_THAT(Adaptdl({"--print-config"}).out, AllOf(StartsWith("color: \"auto\""), HasSubstr("default")));
  EXPECT_THAT(Adaptdl({"--print-config"}, "", {{"ADAPTDL_COLOR", "never"}}).out,
              AllOf(StartsWith("color: \"never\""), HasSubstr("ADAPTDL_COLOR")));
  EXPECT_THAT(Adaptdl({"--print-config", "--color", "always"}, "", {{"ADAPTDL_COLOR", "never"}}).out,
              AllOf(StartsWith("color: \"always\""), HasSubstr("--color")));
}

TEST(Cli, WrongUsageIsExplainedAndIsTwo) {
  struct Case {
    std::vector<std::string> args;
    std::string expect;
  };
  const std::vector<Case> cases = {
      {{"frobnicate"}, "frobnicate: no such command"},
      {{"\x1b[31mred"}, "\\x1b[31mred"},
      {{"--colour", "never"}, "did you mean color"},
      {{"--color", "blue"}, "color"},
      {{"--color", "never", "--color", "never"}, "given twice"},
      {{"fit"}, "PROFILE"},
      {{"fit", "a", "b"}, "fit --help"},
      {{"fit", "a", "--nope\x1b"}, "--nope\\x1b"},
      {{"predict", "--perf", "1,2,3"}, "--perf"},
      {{"predict", "--max-replicas", "0"}, "--max-replicas"},
      {{"predict", "--init-batch-size", "0"}, "--init-batch-size"},
      {{"predict", "--init-batch-size", "99999999999999999999"}, "--init-batch-size"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = Adaptdl(c.args);
    EXPECT_EQ(outcome.code, 2) << c.expect;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("adaptdl: "), HasSubstr(c.expect)));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(Cli, WhatDoesNotWorkIsExplainedAndIsOne) {
  struct Case {
    std::vector<std::string> args;
    std::string input;
    std::string expect;
  };
  const std::vector<Case> cases = {
      {{"fit", "/no/such/file"}, "", "/no/such/file: No such file"},
      {{"fit", "/"}, "", "/: Is a directory"},
      {{"fit", "-"}, "", "standard input: "},
      {{"fit", "-"}, "[]", "no observations"},
      {{"fit", "-"}, "[{\"num_nodes\": 1}]", "[0].num_replicas"},
      {{"fit", "-"}, "[1, \x1b]", "line 1"},
      {{"predict"}, "", "no performance parameters"},
      {{"predict", "-"}, "{\"perfParams\": null}", "no performance parameters"},
      {{"predict", "--perf", "1,1,1,1,1,1,1"}, "", "no initial batch size"},
      {{"predict", "--perf", "1,1,1,1,1,1,0.5", "--init-batch-size", "1"}, "", "gamma"},
      {{"predict", "--perf", "nan,1,1,1,1,1,1", "--init-batch-size", "1"}, "", "alpha_c"},
      {{"predict", "-", "--max-batch-size", "10"}, kHints, "maximum batch size 10"},
      {{"predict", "-"}, "{\"initBatchSize\": \"many\"}", "initBatchSize"},
      {{"predict", "--perf", "1,1,1,1,1,1,1", "--init-batch-size", "9007199254740992", "--min-local-bsz",
        "9007199254740992", "--max-replicas", "4096"},
       "",
       "more than 2^53 in all"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = Adaptdl(c.args, c.input);
    EXPECT_EQ(outcome.code, 1) << c.expect;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("adaptdl: "), HasSubstr(c.expect)));
    EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

// A disk that is full: every byte is refused.
class FullDisk : public std::streambuf {};

TEST(Cli, OutputThatCannotBeWrittenIsAFailure) {
  std::istringstream in(kProfile);
  FullDisk disk;
  std::ostream out(&disk);
  std::ostringstream err;
  const auto nothing = [](const std::string&) { return std::nullopt; };
  EXPECT_EQ(RunCli({.args = {"fit", "-"}, .environment = nothing, .in = in, .out = out, .err = err}), 1);
  EXPECT_THAT(err.str(), HasSubstr("could not be written"));
}

TEST(Fit, TableShowsParametersAndEveryObservation) {
  const Outcome fit = Adaptdl({"fit", "-"}, kProfile);
  EXPECT_EQ(fit.code, 0) << fit.err;
  EXPECT_THAT(fit.out,
              AllOf(HasSubstr("alpha_c"), HasSubstr("gamma"), HasSubstr("objective"), HasSubstr("0.870")));
  EXPECT_THAT(fit.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(Adaptdl({"--color", "always", "fit", "-"}, kProfile).out, HasSubstr("\x1b["));
}

TEST(Fit, LongProfilesShowTheWorstUnlessAllIsAskedFor) {
  std::string profile = "[";
  for (int i = 1; i <= 30; ++i) {
    profile += std::string(i > 1 ? "," : "") + R"({"num_nodes": 1, "num_replicas": 1, "atomic_bsz": )" +
               std::to_string(i) + R"(, "accum_step_time": 0.1, "optim_step_time": 0.1})";
  }
  profile += "]";
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const Outcome worst = Adaptdl({"fit", "-"}, profile);
  const Outcome all = Adaptdl({"fit", "-", "--all"}, profile);
  EXPECT_THAT(worst.out, HasSubstr("the 20 worst of 30"));
  EXPECT_EQ(lines(all.out) - lines(worst.out), 9);
}

TEST(Fit, JsonIsWhatPredictReads) {
  const Outcome fit = Adaptdl({"fit", "-", "--json"}, kProfile);
  EXPECT_EQ(fit.code, 0);
  const auto document = nlohmann::json::parse(fit.out);
  EXPECT_EQ(document["observations"].size(), 3);
  EXPECT_LT(document["objective"].get<double>(), 0.1);
  const Outcome predict =
      Adaptdl({"predict", "-", "--init-batch-size", "64", "--max-batch-size", "1024", "--json"}, fit.out);
  EXPECT_EQ(predict.code, 0) << predict.err;
}

TEST(Predict, JsonHasEveryNumberOfReplicas) {
  const Outcome predict =
      Adaptdl({"predict", "-", "--max-replicas", "10", "--gpus-per-node", "4", "--json"}, kHints);
  ASSERT_EQ(predict.code, 0) << predict.err;
  const auto document = nlohmann::json::parse(predict.out);
  const auto& predictions = document["predictions"];
  ASSERT_EQ(predictions.size(), 13);  // 2, 3 and 4 replicas on one node and on two.
  EXPECT_EQ(predictions.front()["speedup"], 1);
  EXPECT_EQ(predictions.back()["num_replicas"], 10);
  EXPECT_EQ(predictions.back()["num_nodes"], 3);
  for (const auto& p : predictions) {
    EXPECT_EQ(p["batch_size"].get<int>(),
              p["num_replicas"].get<int>() * p["atomic_bsz"].get<int>() * (p["accum_steps"].get<int>() + 1));
    EXPECT_NEAR(p["goodput"].get<double>(), p["throughput"].get<double>() * p["efficiency"].get<double>(),
                1e-9 * p["goodput"].get<double>());
  }
}

TEST(Predict, TableAndPlotFitTheTerminal) {
  const Outcome wide = Adaptdl({"predict", "-"}, kHints, {{"LANG", "en_US.UTF-8"}});
  EXPECT_EQ(wide.code, 0) << wide.err;
  EXPECT_THAT(wide.out, AllOf(HasSubstr("SPEEDUP"), HasSubstr("samples/s"), HasSubstr("Most goodput at")));
  std::istringstream ascii(Adaptdl({"predict", "-"}, kHints, {{"LANG", "C"}}).out);
  for (std::string line; std::getline(ascii, line);) {
    EXPECT_LE(line.size(), 100) << line;
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x80; })) << line;
  }
}

TEST(Predict, SaysWhenGradientStatisticsAreMissing) {
  const Outcome predict =
      Adaptdl({"predict", "--perf", "0.1,0.01,0.1,0.01,0.1,0.01,1.5", "--init-batch-size", "32"});
  EXPECT_EQ(predict.code, 0) << predict.err;
  EXPECT_THAT(predict.out, HasSubstr("No gradient statistics"));
}

TEST(Predict, TakesAWholeJob) {
  const Outcome job = Adaptdl({"predict", "-"},
                              std::string(R"({"kind": "AdaptDLJob", "status": {"train": )") + kHints + "}}");
  EXPECT_EQ(job.out, Adaptdl({"predict", "-"}, kHints).out);
  const Outcome silent = Adaptdl({"predict", "-"}, R"({"kind": "AdaptDLJob"})");
  EXPECT_EQ(silent.code, 1);
  EXPECT_THAT(silent.err, HasSubstr("has not reported"));
}

TEST(Predict, FlagsWinOverTheFile) {
  const Outcome predict =
      Adaptdl({"predict", "-", "--init-batch-size", "200", "--max-replicas", "1", "--json"}, kHints);
  ASSERT_EQ(predict.code, 0) << predict.err;
  EXPECT_GE(nlohmann::json::parse(predict.out)["predictions"][0]["batch_size"].get<int>(), 200);
}

}  // namespace
}  // namespace adaptdl
