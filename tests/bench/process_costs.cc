#include "tests/bench/process_costs.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace adaptdl {

namespace {

// User and system time of a "stat" of /proc.
double CpuSeconds(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  const std::size_t name_ends = text.rfind(')');
  if (name_ends == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_ends + 1));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

ProcessCosts CostsOf(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  ProcessCosts costs;
  costs.cpu_seconds = CpuSeconds(folder + "/stat");
  std::ifstream status(folder + "/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") status >> costs.resident_kb;
  }
  std::map<int, double> threads;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(folder + "/task", error)) {
    threads[std::stoi(thread.path().filename())] = CpuSeconds(thread.path() / "stat");
  }
  for (const auto& [id, seconds] : threads) costs.threads.push_back(seconds);
  return costs;
}

}  // namespace adaptdl
