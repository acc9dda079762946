#include "simulator/workload.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/application.h"

namespace adaptdl {
namespace {

const std::string kHeader = "name,time,application,num_replicas,batch_size\n";

TEST(Workload, ReadsJobsBySubmissionTime) {
  const auto workload = ParseWorkload(kHeader + "b,20,resnet,4,1024\na,7.5,speech,1,20\nc,20,resnet,1,128\n");
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(
      *workload,
      (Workload{{"a", 7.5, "speech", 1, 20}, {"b", 20, "resnet", 4, 1024}, {"c", 20, "resnet", 1, 128}}));
}

TEST(Workload, IsReadAsItWasWritten) {
  const Workload workload = {
      {"a b", 0, "x", 1, 1}, {"\xc3\xbc", 0.1, "y", std::int64_t{1} << 53, 7}, {"c", 1e300, "z", 2, 3}};
  EXPECT_EQ(ParseWorkload(FormatWorkload(workload)), workload);
  EXPECT_EQ(FormatWorkload({{"job", 107, "resnet", 6, 2048}}), kHeader + "job,107,resnet,6,2048\n");
}

TEST(Workload, ErrorsNameTheLineAndTheColumn) {
  const std::map<std::string, std::string> cases = {
      {"a,1,x,1,1\na,2,x,1,1\n", "line 3: name: another job has the same"},
      {",1,x,1,1\n", "line 2: name: expected 1 to 100 printable characters"},
      {std::string(101, 'a') + ",1,x,1,1\n", "line 2: name: expected 1 to 100 printable characters"},
      {"\x1b[2J,1,x,1,1\n", "line 2: name: expected 1 to 100 printable characters"},
      {"a,1,\xff,1,1\n", "line 2: application: expected 1 to 100 printable characters"},
      {"a,-1,x,1,1\n", "line 2: time: must not be negative"},
      {"a,inf,x,1,1\n", "line 2: time: expected a finite number"},
      {"a,soon,x,1,1\n", "line 2: time: expected a number"},
      {"a,1,x,0,1\n", "line 2: num_replicas: expected a whole number from 1 to 9007199254740992"},
      {"a,1,x,1,0\n", "line 2: batch_size: expected a whole number from 1 to 9007199254740992"},
      {"", "line 1: no rows follow the header"},
  };
  for (const auto& [rows, error] : cases) {
    const auto workload = ParseWorkload(kHeader + rows);
    ASSERT_FALSE(workload) << rows;
    EXPECT_EQ(workload.error().message, error);
  }
}

TEST(GenerateWorkload, IsTheSameOnEveryMachine) {
  const Workload workload = GenerateWorkload({});
  ASSERT_EQ(workload.size(), 160);
  EXPECT_EQ(FormatWorkload({workload.begin(), workload.begin() + 3}),
            kHeader +
                "resnet-0,504,resnet,4,1024\n"
                "recommender-1,756,recommender,1,32768\n"
                "detector-2,1159,detector,4,32\n");
  EXPECT_EQ(GenerateWorkload({}), workload);
  EXPECT_NE(GenerateWorkload({.seed = 2}), workload);
  EXPECT_EQ(ParseWorkload(FormatWorkload(workload)), workload);
}

TEST(GenerateWorkload, HasManySmallJobsAndFewLargeOnes) {
  constexpr int kJobs = 20000;
  std::map<std::string, double> percent;
  for (const WorkloadJob& job : GenerateWorkload({.jobs = kJobs})) percent[job.application] += 100.0 / kJobs;
  EXPECT_NEAR(percent["recommender"] + percent["resnet"], 72, 2);
  EXPECT_NEAR(percent["transformer"] + percent["speech"], 20, 2);
  EXPECT_NEAR(percent["detector"], 6.5, 1);
  EXPECT_NEAR(percent["language"], 1.5, 0.5);
}

TEST(GenerateWorkload, HasAnHourOfRush) {
  constexpr int kJobs = 20000;
  std::vector<double> percent(8);
  for (const WorkloadJob& job : GenerateWorkload({.jobs = kJobs})) {
    percent.at(static_cast<std::size_t>(job.submitted / 3600)) += 100.0 / kJobs;
  }
  for (std::size_t hour = 0; hour < 8; ++hour) EXPECT_NEAR(percent[hour], hour == 3 ? 30 : 10, 1) << hour;

  double rush = 0;  // A longer day has one such hour as well.
  for (const WorkloadJob& job : GenerateWorkload({.jobs = kJobs, .hours = 24})) {
    if (job.submitted >= 9 * 3600 && job.submitted < 10 * 3600) rush += 1.0 / kJobs;
    EXPECT_LT(job.submitted, 24 * 3600);
  }
  EXPECT_NEAR(rush, 3.0 / 26, 0.01);
}

TEST(GenerateWorkload, TunedSizesSuitTheApplications) {
  const Applications applications = SyntheticApplications();
  for (const WorkloadJob& job : GenerateWorkload({.jobs = 2000})) {
    ASSERT_TRUE(applications.contains(job.application));
    const ApplicationSpec& spec = applications.at(job.application)->spec();
    EXPECT_GE(job.tuned_batch_size, std::max(spec.init_batch_size, job.tuned_replicas * spec.min_local_bsz))
        << job.name;
    EXPECT_LE(job.tuned_batch_size, spec.max_batch_size) << job.name;
    EXPECT_LE(job.tuned_replicas, spec.max_replicas.value_or(64)) << job.name;
    EXPECT_EQ(job.tuned_batch_size, spec.fixed_batch_size.value_or(job.tuned_batch_size)) << job.name;
  }
}

TEST(GenerateWorkload, NoJobsAreNoWorkload) {
  EXPECT_TRUE(GenerateWorkload({.jobs = 0}).empty());
  EXPECT_EQ(GenerateWorkload({.jobs = 1, .hours = 0}).front().submitted, 0);
}

}  // namespace
}  // namespace adaptdl
