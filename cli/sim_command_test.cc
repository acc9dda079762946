#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/cli_testing.h"
#include "cli/sim_output.h"
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

// Small enough that a replay takes no time worth mentioning.
constexpr const char* kWorkload =
    "name,time,application,num_replicas,batch_size\n"
    "a,0,recommender,1,32768\n"
    "b,60,resnet,2,512\n"
    "c,90,recommender,1,32768\n";

std::vector<std::string> Sim(std::vector<std::string> more) {
  std::vector<std::string> args = {"sim", "--nodes", "2", "--effort", "0.1", "--workload", "-"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

nlohmann::json Results(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.code == 0 ? nlohmann::json::parse(outcome.out)["results"] : nlohmann::json::array();
}

// A directory of its own for each test, gone with it.
class SimFiles : public testing::Test {
 public:
  SimFiles() {
    std::string pattern = testing::TempDir() + "sim_command_test.XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~SimFiles() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return directory_ / name; }
  [[nodiscard]] std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path directory_;
};

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Sim, JsonHasEveryFigure) {
  const nlohmann::json results = Results(Adaptdl(Sim({"--json"}), kWorkload));
  ASSERT_EQ(results.size(), 1);
  const nlohmann::json& result = results[0];
  EXPECT_EQ(result["workload"], "-");
  EXPECT_EQ(result["policy"], "genetic");
  EXPECT_EQ(result["objective"], "completion");
  for (const char* figure : {"average_jct", "p50_jct", "p99_jct", "makespan", "restarts", "gpu_hours",
                             "node_hours", "worst_slowdown", "mean_slowdown", "rounds"}) {
    EXPECT_TRUE(result[figure].is_number()) << figure;
  }
  ASSERT_EQ(result["jct"].size(), 3);
  const double sum =
      result["jct"]["a"].get<double>() + result["jct"]["b"].get<double>() + result["jct"]["c"].get<double>();
  EXPECT_NEAR(result["average_jct"].get<double>(), sum / 3, 1e-6);
}

TEST(Sim, PoliciesKeepTheirOrderAndObjectives) {
  const nlohmann::json results = Results(Adaptdl(
      Sim({"--json", "--objective", "release", "--policy", "genetic/paper,genetic,genetic/completion"}),
      kWorkload));
  ASSERT_EQ(results.size(), 3);
  EXPECT_EQ(results[0]["objective"], "paper");
  EXPECT_EQ(results[1]["objective"], "release");
  EXPECT_EQ(results[2]["objective"], "completion");
}

TEST(Sim, PublishedObjectivesHaveNothingOfOurOwn) {
  const std::vector<std::string> off = {
      "--json",           "--policy", "genetic/paper", "--no-declared-epochs", "--no-family-priors",
      "--no-event-rounds"};
  EXPECT_EQ(Adaptdl(Sim({"--json", "--policy", "genetic/paper"}), kWorkload).out,
            Adaptdl(Sim(off), kWorkload).out);
}

TEST(Sim, EqualSeedsGiveEqualBytes) {
  const std::vector<std::string> args = Sim({"--json", "--seed", "5"});
  const Outcome first = Adaptdl(args, kWorkload);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(Adaptdl(args, kWorkload).out, first.out);
}

using ThreadsSim = SimFiles;

TEST_F(ThreadsSim, AnyNumberGivesEqualBytes) {
  const std::string a = Write("a.csv", kWorkload);
  const std::string b = Write("b.csv", Adaptdl({"sim", "generate", "--jobs", "4", "--hours", "0.1"}).out);
  std::vector<std::string> args = {
      "sim",     "--workload", a,          b,     "--policy", "genetic,genetic/release,genetic/paper",
      "--nodes", "2",          "--effort", "0.1", "--json",   "--jobs"};
  args.emplace_back("1");
  const Outcome one = Adaptdl(args);
  EXPECT_EQ(Results(one).size(), 6);
  EXPECT_EQ(Results(one)[3]["workload"], b);
  args.back() = "4";
  EXPECT_EQ(Adaptdl(args).out, one.out);
}

TEST_F(SimFiles, TableComparesWithTheFirstPolicy) {
  const std::string a = Write("first.csv", kWorkload);
  const std::string b = Write("second.csv", kWorkload);
  const Outcome both = Adaptdl({"sim", "--workload", a, "--workload", b, "--policy", "genetic,genetic/paper",
                                "--nodes", "2", "--effort", "0.1"});
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_THAT(both.out, AllOf(HasSubstr("\nfirst.csv "), HasSubstr("\nsecond.csv "), HasSubstr("\nmean "),
                              HasSubstr("1.00"), HasSubstr(" min"), Not(HasSubstr("NODE-HOURS")),
                              Not(HasSubstr("Jobs done"))));
  EXPECT_THAT(both.err, IsEmpty());
  const Outcome one = Adaptdl(Sim({"--min-nodes", "1", "--max-nodes", "2"}), kWorkload);
  EXPECT_THAT(one.out, AllOf(HasSubstr("NODE-HOURS"), HasSubstr("Jobs done"), Not(HasSubstr("mean"))));
}

TEST_F(SimFiles, ReportIsAPage) {
  const Outcome outcome = Adaptdl(Sim({"--report", Path("day.html")}), kWorkload);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(ReadAll(Path("day.html")), HasSubstr("<html"));
  EXPECT_THAT(Files(), testing::ElementsAre("day.html"));
}

TEST_F(SimFiles, AReportThatCannotBeWrittenIsKnownBeforeTheReplays) {
  std::filesystem::create_directory(Path("directory"));
  for (const std::string& path : {Path("no/such/day.html"), Path("directory"), std::string("/dev/null")}) {
    const Outcome outcome = Adaptdl(Sim({"--report", path}), kWorkload);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(path + ": "));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
  EXPECT_THAT(Files(), testing::ElementsAre("directory"));
}

TEST_F(SimFiles, AFailedWriteLeavesWhatWasThere) {
  std::filesystem::create_directory(Path("directory"));
  Write("directory/file", "old");
  EXPECT_FALSE(WriteWhole(Path("directory"), "new"));
  EXPECT_EQ(ReadAll(Path("directory/file")), "old");
  EXPECT_THAT(Files(), testing::ElementsAre("directory"));
  EXPECT_TRUE(WriteWhole(Path("directory/file"), "new"));
  EXPECT_EQ(ReadAll(Path("directory/file")), "new");
}

TEST(Sim, ProgressIsForTerminals) {
  EXPECT_THAT(Adaptdl(Sim({}), kWorkload).err, IsEmpty());
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "this machine gives no pseudo-terminals";
  const Outcome outcome = Adaptdl(Sim({"--policy", "genetic,genetic/paper"}), kWorkload, {}, terminal);
  close(terminal);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("\r1 of 2 replays, "), HasSubstr("\r2 of 2 replays, 100 %"),
                                 testing::EndsWith(" \r"), Not(HasSubstr("\n"))));
}

TEST(Sim, GenerateMakesTheWorkloadThatIsUsedWithoutOne) {
  const Outcome small = Adaptdl({"sim", "generate", "--jobs", "3", "--hours", "1", "--seed", "2"});
  EXPECT_EQ(small.code, 0) << small.err;
  EXPECT_THAT(small.out, StartsWith("name,time,application,num_replicas,batch_size\n"));
  EXPECT_EQ(std::count(small.out.begin(), small.out.end(), '\n'), 4);
  EXPECT_EQ(Adaptdl({"sim", "generate", "--jobs", "3", "--hours", "1", "--seed", "2"}).out, small.out);
  EXPECT_NE(Adaptdl({"sim", "generate", "--jobs", "3", "--hours", "1", "--seed", "3"}).out, small.out);
  EXPECT_THAT(Adaptdl({"sim", "generate", "--help"}).out,
              AllOf(HasSubstr("adaptdl sim generate"), HasSubstr("--hours")));

  const nlohmann::json drawn =
      Results(Adaptdl({"sim", "--json", "--seed", "2", "--effort", "0.01", "--interval", "3600",
                       "--no-event-rounds", "--nodes", "8", "--gpus", "1"}));
  ASSERT_EQ(drawn.size(), 1);
  EXPECT_EQ(drawn[0]["workload"], "generated");
  EXPECT_EQ(drawn[0]["jct"].size(), 160);
}

TEST(Sim, WrongUsageIsTwo) {
  struct Case {
    std::vector<std::string> args;
    std::string expect;
  };
  const std::vector<Case> cases = {
      {{"--policy", "best"}, "best: no such policy; there is genetic, tiresias"},
      {{"--policy", "genetic/fame"}, "fame: no such objective"},
      {{"--policy", "fifo/paper"}, "only the genetic policy has objectives"},
      {{"--objective", "fame"}, "--objective"},
      {{"--nodes", "0"}, "--nodes"},
      {{"--gpus", "many"}, "--gpus"},
      {{"--interval", "nan"}, "--interval"},
      {{"--jobs", "0"}, "--jobs"},
      {{"--seed", "-1"}, "--seed"},
      {{"--min-nodes", "2"}, "--max-nodes"},
      {{"--min-nodes", "3", "--max-nodes", "2"}, "--max-nodes"},
      {{"generate", "--hours", "nan"}, "--hours"},
      {{"generate", "--jobs", "0"}, "--jobs"},
      {{"--traces", "/"}, "--workload"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> args = c.args;
    args.insert(args.begin(), "sim");
    const Outcome outcome = Adaptdl(args);
    EXPECT_EQ(outcome.code, 2) << c.expect;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("adaptdl: "), HasSubstr(c.expect)));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(Sim, WhatDoesNotWorkIsOne) {
  struct Case {
    std::vector<std::string> args;
    std::string input;
    std::string expect;
  };
  const std::string header = "name,time,application,num_replicas,batch_size\n";
  const std::vector<Case> cases = {
      {{"--workload", "/no/such/file"}, "", "/no/such/file: No such file"},
      {{"--workload", "/"}, "", "/: Is a directory"},
      {{"--workload", "-"}, "", "standard input: "},
      {{"--workload", "-"}, header, "standard input: line 1: no rows"},
      {{"--workload", "-"}, header + "a,soon,resnet,1,1\n", "standard input: "},
      {{"--workload", "-"}, header + "a,0,\x1b,1,1\n", "application"},
      {{"--workload", "-"},
       header + "a,0,chess,1,1\n",
       "standard input: job a: there is no application chess; there is detector, "},
      {{"--workload", "-", "--traces", "/no/such/directory"}, kWorkload, "/no/such/directory"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> args = c.args;
    args.insert(args.begin(), "sim");
    const Outcome outcome = Adaptdl(args, c.input);
    EXPECT_EQ(outcome.code, 1) << c.expect;
    EXPECT_THAT(outcome.err, AllOf(StartsWith("adaptdl: "), HasSubstr(c.expect), Not(HasSubstr("\x1b"))));
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST(Sim, DurationsAreAsPeopleSayThem) {
  EXPECT_EQ(Duration(0), "0 s");
  EXPECT_EQ(Duration(35.4), "35 s");
  EXPECT_EQ(Duration(59.7), "1.0 min");
  EXPECT_EQ(Duration(2778), "46.3 min");
  EXPECT_EQ(Duration(7560), "2.1 h");
}

}  // namespace
}  // namespace adaptdl
