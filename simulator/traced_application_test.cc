#include "simulator/traced_application.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/environment.h"

namespace adaptdl {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

// Small traces of one application, in a folder that goes away with the test.
class Traces : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file, std::ios::binary) << text;
  }

  // Step times of placements and larger spreads that are easy to calculate with.
  void WriteApplication(const std::string& name) const {
    Write(name + "/placements.csv",
          "placement,local_bsz,step_time,sync_time\n"
          "1,10,1,0\n1,20,2,0\n"
          "12,10,3,1\n12,20,5,2\n"
          "13,10,4,1\n13,20,6,2\n"
          "22,10,6,3\n22,20,8,4\n");
    Write(name + "/scalability.csv",
          "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
          "4,4,10,9,6\n4,4,20,10,6\n4,16,10,13,6\n4,16,20,14,6\n16,64,10,20,10\n16,64,20,22,10\n");
    Write(name + "/validation-8.csv",
          "progress,iteration,metric,grad_sqr,grad_var\n100,100,0,4,1\n200,200,0,2,2\n300,300,0,1,4\n");
    Write(name + "/validation-32.csv",
          "progress,iteration,metric,grad_sqr,grad_var\n101,30,0,8,3\n199,60,0,4,6\n");
  }

  [[nodiscard]] Result<Applications> Load() const { return LoadTraces(root_.string()); }
  [[nodiscard]] std::string LoadError() const {
    const auto applications = Load();
    return applications ? "none" : applications.error().message;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / ("adaptdl_traces_" + std::to_string(getpid()));
};

StepTime Step(const Application& application, const std::vector<int>& placement, std::int64_t local_bsz) {
  return application.Step(placement, local_bsz);
}

MATCHER_P2(IsStep, step, sync, "") {
  return std::abs(arg.step - step) < 1e-9 && std::abs(arg.sync - sync) < 1e-9;
}

TEST_F(Traces, TheSpecComesFromTheFiles) {
  WriteApplication("toy");
  Write("README.md", "Not an application.");
  const auto applications = Load();
  ASSERT_TRUE(applications) << applications.error().message;
  ASSERT_EQ(applications->size(), 1);
  const ApplicationSpec& spec = applications->at("toy")->spec();
  EXPECT_EQ(spec.name, "toy");
  EXPECT_EQ(spec.init_batch_size, 8);
  EXPECT_EQ(spec.max_batch_size, 32);
  EXPECT_EQ(spec.min_local_bsz, 10);
  EXPECT_EQ(spec.max_local_bsz, 20);
  EXPECT_EQ(spec.epochs, 2) << "the shortest validation";
  EXPECT_EQ(spec.data_size, 800);
  EXPECT_FALSE(spec.fixed_batch_size);
  EXPECT_FALSE(spec.max_replicas);
}

TEST_F(Traces, ThePapersApplicationsHaveTheirOwnRules) {
  for (const char* name : {"bert", "ncf", "yolov3"}) WriteApplication(name);
  EXPECT_THAT(LoadError(), EndsWith("ncf: a validation file has fewer than 10 epochs"));
  std::string rows = "progress,grad_sqr,grad_var\n";
  for (int i = 1; i <= 60; ++i) rows += std::to_string(i) + ",1,1\n";
  for (const char* name : {"ncf", "yolov3"}) {
    for (const char* size : {"8", "32"}) Write(std::string(name) + "/validation-" + size + ".csv", rows);
  }
  Write("yolov3/placements.csv", "placement,local_bsz,step_time,sync_time\n1,4,1,0\n1,16,2,0\n");
  const auto applications = Load();
  ASSERT_TRUE(applications) << applications.error().message;
  EXPECT_EQ(applications->at("bert")->spec().epochs, 2);
  EXPECT_EQ(applications->at("yolov3")->spec().epochs, 50);
  EXPECT_EQ(applications->at("yolov3")->spec().max_local_bsz, 8);
  EXPECT_EQ(applications->at("ncf")->spec().fixed_batch_size, 32768);
  EXPECT_EQ(applications->at("ncf")->spec().max_replicas, 1);
}

TEST_F(Traces, MeasuredPlacementsAreInterpolatedByBatchSize) {
  WriteApplication("toy");
  const Applications applications = Load().value();
  const Application& toy = *applications.at("toy");
  EXPECT_THAT(Step(toy, {1}, 10), IsStep(1, 0));
  EXPECT_THAT(Step(toy, {1, 2}, 15), IsStep(4, 1.5));
  EXPECT_THAT(Step(toy, {2, 1}, 15), IsStep(4, 1.5)) << "nodes stand in a ring";
  EXPECT_THAT(Step(toy, {2, 2}, 20), IsStep(8, 4));
  EXPECT_THAT(Step(toy, {1}, 40), IsStep(2, 0)) << "the nearest measurement";
}

TEST_F(Traces, OtherPlacementsAreInterpolatedBySpread) {
  WriteApplication("toy");
  const Applications applications = Load().value();
  const Application& toy = *applications.at("toy");
  EXPECT_THAT(Step(toy, {4, 4, 4, 4}, 15), IsStep(13.5, 6));
  EXPECT_THAT(Step(toy, {1, 1, 1, 13}, 15), IsStep(13.5, 6)) << "more than 9 replicas have no digit";
  EXPECT_THAT(Step(toy, std::vector<int>(16, 4), 10), IsStep(20, 10));
  EXPECT_THAT(Step(toy, std::vector<int>(32, 2), 10), IsStep(20, 10)) << "nodes count up to 16";
  EXPECT_THAT(Step(toy, std::vector<int>(10, 4), 10), IsStep(16.5, 8)) << "halfway from 4 to 16 nodes";
  EXPECT_THAT(Step(toy, std::vector<int>(64, 64), 20), IsStep(22, 10)) << "outside: the nearest";
}

TEST_F(Traces, PlacementsOfEqualSpreadAreAveraged) {
  WriteApplication("toy");
  Write("toy/placements.csv",
        "placement,local_bsz,step_time,sync_time\n1,10,1,0\n1,20,2,0\n29,10,3,1\n29,20,5,2\n38,10,5,3\n38,20,"
        "8,3\n");
  const Applications applications = Load().value();
  EXPECT_THAT(Step(*applications.at("toy"), {1, 10}, 10), IsStep(4, 2));
  EXPECT_THAT(Step(*applications.at("toy"), {10, 1}, 20), IsStep(6.5, 2.5));
}

TEST_F(Traces, GradientsAreInterpolatedBetweenBatchSizes) {
  WriteApplication("toy");
  const Applications applications = Load().value();
  const Application& toy = *applications.at("toy");
  EXPECT_EQ(toy.Gradient(8, 0), (GradParams{4, 1}));
  EXPECT_EQ(toy.Gradient(32, 1), (GradParams{4, 6}));
  EXPECT_EQ(toy.Gradient(20, 0), (GradParams{6, 2}));
  EXPECT_EQ(toy.Gradient(14, 1), (GradParams{2.5, 3}));
  EXPECT_EQ(toy.Gradient(1, 0), toy.Gradient(8, 0));
  EXPECT_EQ(toy.Gradient(99, 0), toy.Gradient(32, 0));
  EXPECT_EQ(toy.Gradient(8, 99), (GradParams{1, 4})) << "the last row";
}

TEST_F(Traces, ProgressIsTheLeastOfTheBatchSizes) {
  WriteApplication("toy");
  const Applications applications = Load().value();
  const Application& toy = *applications.at("toy");
  EXPECT_THAT((std::vector<double>{toy.Progress(0), toy.Progress(1), toy.Progress(2)}),
              ElementsAre(0, 100, 199));
}

TEST_F(Traces, ErrorsNameTheFileAndTheLine) {
  const std::string placements = "placement,local_bsz,step_time,sync_time\n";
  const std::string scalability = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n";
  const std::string validation = "progress,grad_sqr,grad_var\n";
  const struct {
    std::string file, text, error;
  } cases[] = {
      {"placements.csv", placements + "1,10,1,x\n", "line 2: sync_time: expected a number"},
      {"placements.csv", placements + "1,10,1,1\n",
       "line 2: sync_time: must be at least 0 and less than step_time"},
      {"placements.csv", placements + "1,10,1,-1\n",
       "line 2: sync_time: must be at least 0 and less than step_time"},
      {"placements.csv", placements + "12,10,1,0\n21,10,2,1\n",
       "line 3: local_bsz: measured twice for this placement"},
      {"placements.csv", placements + "10,10,1,0\n",
       "line 2: placement: expected the replicas on each node, one digit from 1 to 9 for a node"},
      {"placements.csv", placements + "1,0,1,0\n",
       "line 2: local_bsz: expected a whole number from 1 to 9007199254740992"},
      {"scalability.csv", scalability + "2,1,10,1,0\n",
       "line 2: num_replicas: expected a whole number from 2 to 9007199254740992"},
      {"scalability.csv", "num_nodes\n1\n", "line 1: column 'num_replicas' is missing"},
      {"validation-8.csv", validation + "2,1,1\n2,1,1\n", "line 3: progress: must rise from 0 on"},
      {"validation-8.csv", validation + "2,-1,1\n", "line 2: grad_sqr: must not be negative"},
      {"validation-8.csv", validation + "2,1,-1\n", "line 2: grad_var: must not be negative"},
      {"validation-8.csv", validation, "line 1: no rows follow the header"},
  };
  for (const auto& [file, text, error] : cases) {
    fs::remove_all(root_);
    WriteApplication("toy");
    Write("toy/" + file, text);
    EXPECT_THAT(LoadError(), EndsWith("toy/" + file + ": " + error));
  }
}

TEST_F(Traces, MissingFilesAndTooFewMeasurementsAreErrors) {
  EXPECT_THAT(LoadError(), HasSubstr("no applications"));
  EXPECT_EQ(LoadTraces((root_ / "none").string()).error().code, ErrorCode::kNotFound);
  WriteApplication("toy");
  Write("toy/validation-x.csv", "");
  EXPECT_THAT(LoadError(), EndsWith("validation-x.csv: expected a batch size in its name"));
  for (const char* file : {"validation-x.csv", "validation-8.csv", "validation-32.csv"})
    fs::remove(root_ / "toy" / file);
  EXPECT_THAT(LoadError(), EndsWith("toy: no validation-<batch>.csv"));
  WriteApplication("toy");
  Write("toy/validation-08.csv", "progress,grad_sqr,grad_var\n1,1,1\n");
  EXPECT_THAT(LoadError(), EndsWith("validation-8.csv: its batch size has another file"));
  fs::remove(root_ / "toy" / "validation-08.csv");
  fs::remove(root_ / "toy" / "scalability.csv");
  EXPECT_THAT(LoadError(), EndsWith("scalability.csv: cannot be opened"));
  Write("toy/scalability.csv", "num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,1,30,2,0\n");
  Write("toy/placements.csv", "placement,local_bsz,step_time,sync_time\n1,10,1,0\n");
  EXPECT_THAT(LoadError(), HasSubstr("do not span a volume"));
}

// The measurements themselves are not part of this project.
class Osdi21Traces : public testing::Test {
 protected:
  void SetUp() override {
    const std::string beside = std::string(ADAPTDL_SOURCE_DIR) + "/../shared/data/osdi21/traces";
    const std::string directory = ProcessEnvironment()("ADAPTDL_TRACES_DIR").value_or(beside);
    if (!fs::is_directory(directory)) GTEST_SKIP() << "the OSDI'21 traces are not here";
    auto loaded = LoadTraces(directory);
    ASSERT_TRUE(loaded) << loaded.error().message;
    applications_ = *std::move(loaded);
  }

  Applications applications_;
};

TEST_F(Osdi21Traces, SpecsAreThoseOfThePaper) {
  const struct {
    const char* name;
    std::int64_t init, max, min_local, max_local;
    int epochs;
  } expected[] = {{"bert", 12, 384, 4, 12, 2},          {"cifar10", 128, 4096, 32, 1024, 100},
                  {"deepspeech2", 20, 640, 10, 80, 80}, {"imagenet", 200, 12800, 20, 200, 90},
                  {"ncf", 256, 32768, 32, 32768, 10},   {"yolov3", 8, 512, 4, 8, 50}};
  ASSERT_EQ(applications_.size(), std::size(expected));
  for (const auto& [name, init, max, min_local, max_local, epochs] : expected) {
    const ApplicationSpec& spec = applications_.at(name)->spec();
    EXPECT_EQ(spec.init_batch_size, init) << name;
    EXPECT_EQ(spec.max_batch_size, max) << name;
    EXPECT_EQ(spec.min_local_bsz, min_local) << name;
    EXPECT_EQ(spec.max_local_bsz, max_local) << name;
    EXPECT_EQ(spec.epochs, epochs) << name;
  }
  EXPECT_EQ(applications_.at("cifar10")->spec().data_size, 128 * 391);
}

// Half the way between two lines of the files, calculated by hand.
TEST_F(Osdi21Traces, StepTimesAreThoseOfTheFiles) {
  const Application& cifar10 = *applications_.at("cifar10");
  EXPECT_THAT(Step(cifar10, {2, 2, 4}, 32), IsStep(0.1386183738708496, 0.09647423248291015));
  EXPECT_THAT(Step(cifar10, {4, 2, 2}, 110), IsStep(0.15735130310058594, 0.067631668329238892));
  const Application& bert = *applications_.at("bert");
  EXPECT_THAT(Step(bert, std::vector<int>(12, 2), 8), IsStep(1.7303386330604553, 1.0876546859741212));
  // (5 nodes, 20 replicas) lies on the edge from (4, 16), which is 4444 alone, to (6, 24).
  EXPECT_THAT(Step(bert, std::vector<int>(5, 4), 12), IsStep(1.891501508653164, 1.0053358249664308));
}

TEST_F(Osdi21Traces, ProgressRises) {
  for (const auto& [name, application] : applications_) {
    EXPECT_EQ(application->Progress(0), 0) << name;
    for (int epoch = 1; epoch <= application->spec().epochs; ++epoch) {
      EXPECT_GT(application->Progress(epoch), application->Progress(epoch - 1)) << name << " " << epoch;
      const GradParams gradient =
          application->Gradient(1.5 * static_cast<double>(application->spec().init_batch_size), epoch - 1);
      EXPECT_GE(gradient.sqr, 0);
      EXPECT_GT(gradient.var, 0);
    }
  }
}

TEST_F(Osdi21Traces, EveryStepTakesLongerThanItsSynchronisation) {
  for (const auto& [name, application] : applications_) {
    const ApplicationSpec& spec = application->spec();
    for (std::size_t nodes = 1; nodes <= 16; ++nodes) {
      for (std::size_t full = 0; full <= nodes; ++full) {
        for (int each = 1; each <= 4; ++each) {
          std::vector<int> placement(nodes, each);
          std::fill_n(placement.begin(), full, 4);
          for (std::int64_t size = spec.min_local_bsz; size <= spec.max_local_bsz; size += 1 + size / 7) {
            const StepTime time = application->Step(placement, size);
            ASSERT_TRUE(std::isfinite(time.step) && time.step > time.sync && time.sync >= 0)
                << name << " " << testing::PrintToString(placement) << " " << size;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace adaptdl
