#include "api/hints.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "api/generators.h"
#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

// As a client of the published release sends it.
constexpr const char* kFull = R"({
  "initBatchSize": 128, "localBszBounds": [32, 1024], "globalBatchSize": null, "maxBatchSize": 4096,
  "maxProfiledReplicas": 4, "gradientAccumulation": true, "gradParams": {"norm": 0.125, "var": 4.0},
  "perfParams": {"alpha_c": 0.1, "beta_c": 0.01, "alpha_n": 1e-08, "beta_n": 1.1e-08, "alpha_r": 1e-08,
                 "beta_r": 0, "gamma": 1.001}, "other": {"unknown": 1}})";

TEST(HintsTest, ReadsAFullReport) {
  const Result<Hints> hints = ParseHints(kFull);
  ASSERT_TRUE(hints) << hints.error().message;
  Hints expected;
  expected.init_batch_size = 128;
  expected.min_local_bsz = 32;
  expected.max_local_bsz = 1024;
  expected.max_batch_size = 4096;
  expected.max_profiled_replicas = 4;
  expected.gradient_accumulation = true;
  expected.grad_params = GradParams{0.125, 4};
  expected.perf_params = PerfParams{0.1, 0.01, 1e-8, 1.1e-8, 1e-8, 0, 1.001};
  EXPECT_EQ(*hints, expected);
}

TEST(HintsTest, TakesWhatClientsLeaveOut) {
  const char* const cases[] = {
      "{}",
      R"({"initBatchSize": 128, "localBszBounds": null, "globalBatchSize": null, "maxBatchSize": null,
          "maxProfiledReplicas": 0, "gradientAccumulation": false, "gradParams": null, "perfParams": null})",
      R"({"localBszBounds": [null, 64]})",
      R"({"localBszBounds": [null, null]})",
      R"({"localBszBounds": [64, null]})",
      R"({"maxBatchSize": 1024.0})",
      R"({"gradParams": {"norm": 0.0, "var": 0}})",
      R"({"maxBatchSize": 128, "initBatchSize": 128, "localBszBounds": [7, 7]})",
  };
  for (const char* text : cases) {
    const Result<Hints> hints = ParseHints(text);
    EXPECT_TRUE(hints) << hints.error().message;
  }
  EXPECT_EQ(ParseHints(R"({"localBszBounds": [null, 64]})")->max_local_bsz, 64);
  EXPECT_EQ(ParseHints(R"({"maxBatchSize": 1024.0})")->max_batch_size, 1024);
}

TEST(HintsTest, SaysWhichFieldIsWrong) {
  struct Case {
    const char* patch;
    const char* message;
  };
  const Case cases[] = {
      {R"({"initBatchSize": 0})", "train.initBatchSize: must be between 1 and 9007199254740992, found 0"},
      {R"({"initBatchSize": 1e17})",
       "train.initBatchSize: must be between 1 and 9007199254740992, found 1e+17"},
      {R"({"initBatchSize": "128"})", "train.initBatchSize: expected an integer, found text"},
      {R"({"initBatchSize": 1.5})", "train.initBatchSize: expected an integer, found the number 1.5"},
      {R"({"initBatchSize": true})", "train.initBatchSize: expected an integer, found a boolean"},
      {R"({"localBszBounds": [0, 4]})",
       "train.localBszBounds[0]: must be between 1 and 9007199254740992, found 0"},
      {R"({"localBszBounds": [4, 3]})", "train.localBszBounds: 3 is below the lower bound, 4"},
      {R"({"localBszBounds": [4]})", "train.localBszBounds: expected a list of two: [min, max]"},
      {R"({"localBszBounds": [1, 2, 3]})", "train.localBszBounds: expected a list of two: [min, max]"},
      {R"({"localBszBounds": 4})", "train.localBszBounds: expected a list, found the number 4"},
      {R"({"globalBatchSize": -1})",
       "train.globalBatchSize: must be between 1 and 9007199254740992, found -1"},
      {R"({"maxBatchSize": 127})", "train.maxBatchSize: 127 is below initBatchSize, 128"},
      {R"({"maxProfiledReplicas": -1})",
       "train.maxProfiledReplicas: must be between 0 and 9007199254740992, found -1"},
      {R"({"gradientAccumulation": 1})",
       "train.gradientAccumulation: expected a boolean, found the number 1"},
      {R"({"gradParams": {"norm": -1e-9}})", "train.gradParams.norm: must be at least 0, found -1e-09"},
      {R"({"gradParams": {"var": -1}})", "train.gradParams.var: must be at least 0, found -1"},
      {R"({"gradParams": {"var": null}})", "train.gradParams.var: missing"},
      {R"({"gradParams": [1, 2]})", "train.gradParams: expected an object, found a list"},
      {R"({"perfParams": {"alpha_c": -1}})", "train.perfParams.alpha_c: must be at least 0, found -1"},
      {R"({"perfParams": {"beta_r": "x"}})", "train.perfParams.beta_r: expected a number, found text"},
      {R"({"perfParams": {"gamma": 0.99}})", "train.perfParams.gamma: must be between 1 and 10, found 0.99"},
      {R"({"perfParams": {"gamma": 10.1}})", "train.perfParams.gamma: must be between 1 and 10, found 10.1"},
      {R"({"perfParams": {"gamma": null}})", "train.perfParams.gamma: missing"},
      {R"({"progress": -1})", "train.progress: must be at least 0, found -1"},
      {R"({"totalProgress": "x"})", "train.totalProgress: expected a number, found text"},
      {R"({"epochs": 1.5})", "train.epochs: expected an integer, found the number 1.5"},
      {R"({"finishedEpochs": -1})", "train.finishedEpochs: must be between 0 and 9007199254740992, found -1"},
      {R"({"checkpointSeconds": -1})", "train.checkpointSeconds: must be at least 0, found -1"},
      {R"({"restartSeconds": {}})", "train.restartSeconds: expected a number, found an object"},
      {R"({"profile": [{"num_nodes": 1}]})", "train.profile[0].num_replicas: missing"},
  };
  for (const auto& [patch, message] : cases) {
    json value = ParseJson(kFull).value();
    value.merge_patch(ParseJson(patch).value());
    const Result<Hints> hints = FromJson<Hints>(value, "train");
    ASSERT_FALSE(hints) << patch;
    EXPECT_EQ(hints.error().message, message);
  }
  EXPECT_EQ(ParseHints("[]").error().message, "expected an object, found a list");
  EXPECT_FALSE(ParseHints(R"({"gradParams": {"norm": NaN, "var": 1}})"));
  EXPECT_EQ(ParseHints(R"({"maxBatchSize": 1, "maxBatchSize": 2})").error().message,
            "maxBatchSize: given twice");
}

TEST(HintsTest, KeepsProfilesShort) {
  const json one = {{"num_nodes", 1},
                    {"num_replicas", 1},
                    {"atomic_bsz", 1},
                    {"accum_step_time", 0.1},
                    {"optim_step_time", 0.2}};
  EXPECT_TRUE(ParseHints(ToText(json{{"profile", json(kMaxObservations, one)}})));
  EXPECT_EQ(ParseHints(ToText(json{{"profile", json(kMaxObservations + 1, one)}})).error().message,
            "profile: has more than 200 observations");
}

RC_GTEST_PROP(HintsTest, PatchesAnyHintsToThese, ()) {
  json status = {{"status", {{"train", Encode(generate::SomeHints())}, {"phase", "Running"}}}};
  const Hints hints = generate::SomeHints();
  status.merge_patch(HintsPatch(hints).value());
  RC_ASSERT(FromJson<Hints>(status["status"]["train"]).value() == hints);
  RC_ASSERT(status["status"]["phase"] == "Running");
}

RC_GTEST_PROP(HintsTest, ReadsWhatItWrites, ()) {
  const Hints hints = generate::SomeHints();
  RC_ASSERT(ParseHints(ToText(Encode(hints))).value() == hints);
}

}  // namespace
}  // namespace adaptdl
