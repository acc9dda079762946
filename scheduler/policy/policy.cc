#include "scheduler/policy/policy.h"

#include <algorithm>
#include <iterator>

#include "scheduler/policy/baselines.h"
#include "scheduler/policy/genetic.h"

namespace adaptdl {
namespace {

tl::unexpected<Error> NoSuch(std::string_view kind, std::string_view name, const auto& names) {
  std::string message = Printable(name) + ": no such " + std::string(kind) + "; there is ";
  for (std::size_t i = 0; i < std::size(names); ++i) message += (i > 0 ? ", " : "") + std::string(names[i]);
  return Fail(ErrorCode::kNotFound, message);
}

}  // namespace

std::string_view ToString(Objective objective) {
  return kObjectiveNames[static_cast<std::size_t>(objective)];
}

Result<Objective> ParseObjective(std::string_view name) {
  const auto found = std::find(std::begin(kObjectiveNames), std::end(kObjectiveNames), name);
  if (found == std::end(kObjectiveNames)) return NoSuch("objective", name, kObjectiveNames);
  return static_cast<Objective>(found - std::begin(kObjectiveNames));
}

Result<std::unique_ptr<const Policy>> MakePolicy(std::string_view name, const PolicyOptions& options) {
  if (name == "genetic") return std::make_unique<GeneticPolicy>(options);
  if (name == "tiresias") return std::make_unique<TiresiasPolicy>(options.share_networks);
  if (name == "optimus")
    return std::make_unique<OptimusPolicy>(options.remaining_time, options.share_networks);
  if (name == "fifo") return std::make_unique<FifoPolicy>();
  if (name == "static") return std::make_unique<StaticPolicy>();
  return NoSuch("policy", name, kPolicyNames);
}

}  // namespace adaptdl
