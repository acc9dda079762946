// cluster_scenario --replay SEED: prints what happens, a line each. cluster_scenario [FIRST] LAST: runs these
// seeds, a line each with the digest of its trace; fails where anything that must hold does not.
#include <charconv>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/scenarios/scenario.h"

namespace {

std::optional<std::uint64_t> Number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int Usage() {
  std::fputs("usage: cluster_scenario --replay SEED\n       cluster_scenario [FIRST] LAST\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  using adaptdl::RunScenario;
  using adaptdl::ScenarioResult;
  const std::vector<std::string_view> args(argv + 1, argv + argc);
  if (args.empty() || args.size() > 2) return Usage();
  const std::optional<std::uint64_t> last = Number(args.back());
  if (!last) return Usage();
  if (args[0] == "--replay") {
    if (args.size() != 2) return Usage();
    const ScenarioResult result = RunScenario(*last, [](std::string_view line) {
      std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
    });
    for (const std::string& violation : result.violations) std::printf("broken: %s\n", violation.c_str());
    return result.violations.empty() ? 0 : 1;
  }
  const std::optional<std::uint64_t> first = args.size() == 2 ? Number(args[0]) : 1;
  if (!first) return Usage();
  bool all_well = true;
  for (std::uint64_t seed = *first; seed <= *last; ++seed) {
    const ScenarioResult result = RunScenario(seed);
    std::printf("%llu %016llx\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(result.digest));
    for (const std::string& violation : result.violations) {
      std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
    }
    all_well = all_well && result.violations.empty();
  }
  return all_well ? 0 : 1;
}
