// operator_scenario --replay SEED: prints what happens, a line each. operator_scenario [FIRST] LAST: runs
// these seeds, a line each with the digest of its trace, and names whatever should not have happened; with
// --until-broken only up to the first seed where anything does. --faults FAMILY: of that family alone,
// instead of the one that the seed has.
#include <charconv>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/scenarios/scenario.h"

namespace adaptdl {
namespace {

constexpr std::pair<std::string_view, FaultFamily> kFamilies[] = {{"crashes", FaultFamily::kCrashes},
                                                                  {"unobserved", FaultFamily::kUnobserved},
                                                                  {"stale", FaultFamily::kStale},
                                                                  {"all", FaultFamily::kAll}};

struct Arguments {
  bool replay = false;
  bool until_broken = false;
  std::optional<FaultFamily> family;
  std::vector<std::uint64_t> seeds;
};

std::optional<std::uint64_t> Number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<FaultFamily> Family(std::string_view text) {
  for (const auto& [name, family] : kFamilies) {
    if (name == text) return family;
  }
  return std::nullopt;
}

std::optional<Arguments> Parse(const std::vector<std::string_view>& args) {
  Arguments out;
  for (auto arg = args.begin(); arg != args.end(); ++arg) {
    if (*arg == "--replay") {
      out.replay = true;
    } else if (*arg == "--until-broken") {
      out.until_broken = true;
    } else if (*arg == "--faults" && std::next(arg) != args.end()) {
      out.family = Family(*++arg);
      if (!out.family) return std::nullopt;
    } else if (const auto seed = Number(*arg)) {
      out.seeds.push_back(*seed);
    } else {
      return std::nullopt;
    }
  }
  if (out.seeds.empty() || out.seeds.size() > (out.replay ? 1U : 2U)) return std::nullopt;
  return out;
}

int Replay(std::uint64_t seed, std::optional<FaultFamily> family) {
  const auto print = [](std::string_view line) {
    std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
  };
  const ScenarioResult result = RunScenario(seed, print, family);
  for (const std::string& violation : result.violations) std::printf("broken: %s\n", violation.c_str());
  return result.violations.empty() ? 0 : 1;
}

int RunSeeds(const Arguments& arguments) {
  bool all_well = true;
  const std::uint64_t first = arguments.seeds.size() == 2 ? arguments.seeds[0] : 1;
  for (std::uint64_t seed = first; seed <= arguments.seeds.back(); ++seed) {
    const ScenarioResult result = RunScenario(seed, {}, arguments.family);
    std::printf("%llu %016llx\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(result.digest));
    for (const std::string& violation : result.violations) {
      std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
    }
    all_well = all_well && result.violations.empty();
    if (arguments.until_broken && !all_well) break;
  }
  return all_well ? 0 : 1;
}

int Main(const std::vector<std::string_view>& args) {
  const std::optional<Arguments> arguments = Parse(args);
  if (!arguments) {
    std::fputs(
        "usage: operator_scenario [--faults crashes|unobserved|stale|all] --replay SEED\n"
        "       operator_scenario [--faults FAMILY] [--until-broken] [FIRST] LAST\n",
        stderr);
    return 2;
  }
  if (arguments->replay) return Replay(arguments->seeds[0], arguments->family);
  return RunSeeds(*arguments);
}

}  // namespace
}  // namespace adaptdl

int main(int argc, char** argv) { return adaptdl::Main({argv + 1, argv + argc}); }
