// One round of the genetic allocator: how good, how much CPU, how much memory. Prints tables;
// docs/benchmarks.md keeps them.
//
//   allocation_quality [DIRECTORY of instances]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "api/json.h"
#include "api/snapshot.h"
#include "nlohmann/json.hpp"
#include "scheduler/policy/policy.h"
#include "scheduler/policy/search.h"

namespace adaptdl {
namespace {

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// In a process of its own, so that its memory is its own.
void InChild(const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
}

// What the process has held at most.
double PeakMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

void Quality(const std::filesystem::path& directory) {
  std::printf(
      "objective `release`\n\n| instance | published | greedy | here | bound | gap | CPU s |\n| --- | --- | "
      "--- | --- | --- | --- | --- |\n");
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const std::string text = ReadFile(file);
    const auto snapshot = ParseSnapshot(text);
    if (!snapshot) continue;
    const nlohmann::json published = nlohmann::json::parse(text)["published"];
    const double before = CpuSeconds();
    const Problem problem(*snapshot);
    Values values(problem, {.objective = Objective::kRelease});
    Rng rng(0);
    const SearchResult found = Search(problem, values, 1, rng);
    std::printf("| %s | %.3f | %.3f | %.3f | %.3f | %.2f %% | %.4f |\n", file.stem().c_str(),
                published["objective_without_autoscaling"].get<double>(), published["greedy"].get<double>(),
                found.state.value(), found.bound, 100 * (found.bound / found.state.value() - 1),
                CpuSeconds() - before);
  }
}

// Jobs like those of the instances, half of the cluster in use.
Snapshot MakeProblem(const Snapshot& like, int jobs, int nodes, int gpus) {
  Snapshot out;
  Rng rng(1);
  const auto number = [](const char* prefix, int i) {
    std::string digits = std::to_string(i);
    return prefix + std::string(5 - digits.size(), '0') + digits;
  };
  for (int n = 0; n < nodes; ++n)
    out.nodes[number("node-", n)].resources = {{"nvidia.com/gpu", gpus}, {"pods", 8 * gpus}};
  auto next = like.jobs.begin();
  for (int j = 0; j < jobs; ++j) {
    SnapshotJob job = next->second;
    if (++next == like.jobs.end()) next = like.jobs.begin();
    job.max_replicas = std::int64_t{1} << (1 + rng() % 6);
    job.min_replicas = 0;
    job.age = static_cast<double>(rng() % 36000);
    job.attained_service = static_cast<double>(rng() % 360000);
    if (rng() % 2 == 0) {
      job.total_progress = 1e5;
      job.progress = static_cast<double>(rng() % 100000);
    }
    out.jobs[number("job-", j)] = job;
  }
  const auto start = MakePolicy("static", {});
  Snapshot half = out;
  while (half.nodes.size() > out.nodes.size() / 2) half.nodes.erase(std::prev(half.nodes.end()));
  out.base_allocations = (*start)->Propose(half, rng).allocation;
  return out;
}

void Speed(const Snapshot& like) {
  std::printf(
      "\n| jobs x nodes x GPUs | objective | CPU s | peak MB | GPUs in use | jobs running |\n| --- | --- | "
      "--- | --- | --- | --- |\n");
  struct Size {
    int jobs, nodes, gpus;
  };
  for (const Size size : {Size{64, 32, 4}, {160, 64, 4}, {320, 128, 4}, {640, 256, 4}, {2000, 1000, 8}}) {
    const Snapshot snapshot = MakeProblem(like, size.jobs, size.nodes, size.gpus);
    for (const Objective objective : {Objective::kCompletion, Objective::kRelease, Objective::kPaper}) {
      InChild([&] {
        const auto policy = MakePolicy("genetic", {.objective = objective});
        Rng rng(0);
        const double before = CpuSeconds();
        const Proposal proposal = (*policy)->Propose(snapshot, rng);
        const double cpu = CpuSeconds() - before;
        std::size_t used = 0;
        std::size_t running = 0;
        for (const auto& [job, nodes] : proposal.allocation) {
          used += nodes.size();
          running += nodes.empty() ? 0 : 1;
        }
        std::printf("| %d x %d x %d | %s | %.4f | %.0f | %.1f %% | %zu |\n", size.jobs, size.nodes, size.gpus,
                    std::string(ToString(objective)).c_str(), cpu, PeakMegabytes(),
                    100.0 * static_cast<double>(used) / (size.nodes * size.gpus), running);
      });
    }
  }
}

}  // namespace
}  // namespace adaptdl

int main(int argc, char** argv) {
  const std::filesystem::path directory = argc > 1 ? argv[1] : ADAPTDL_GOLDEN_DEFAULT "/instances";
  adaptdl::Quality(directory);
  const auto like = adaptdl::ParseSnapshot(
      adaptdl::ReadFile(std::filesystem::path(ADAPTDL_GOLDEN_DEFAULT "/instances/160x64-busy.json")));
  if (!like) return 1;
  adaptdl::Speed(*like);
}
