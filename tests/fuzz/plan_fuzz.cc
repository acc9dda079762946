// Plans: whatever snapshot is taken, a policy answers for each of its jobs, with numbers that are numbers.
#include <algorithm>
#include <cmath>

#include "scheduler/policy/policy.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const Result<Snapshot> snapshot = ParseSnapshot(AsText(data, size));
  if (!snapshot || snapshot->jobs.size() > 8 || snapshot->nodes.size() > 8) return 0;
  const auto check = [&](std::string_view name, const PolicyOptions& options) {
    Rng rng(1);
    const Proposal proposal = MakePolicy(name, options).value()->Propose(*snapshot, rng);
    Check(std::isfinite(proposal.objective), "the objective is a number");
    Check(proposal.desired_nodes >= 0, "there are no negative nodes");
    Check(proposal.allocation.size() == snapshot->jobs.size(), "every job has an entry");
    Check(proposal.reasons.size() == snapshot->jobs.size(), "every job has a reason");
    for (const auto& [job, given] : snapshot->jobs) {
      Check(proposal.allocation.contains(job), "the entries are of the jobs");
      const auto reason = proposal.reasons.find(job);
      Check(reason != proposal.reasons.end() && !reason->second.empty() &&
                std::none_of(reason->second.begin(), reason->second.end(),
                             [](char c) { return static_cast<unsigned char>(c) < ' '; }),
            "a reason is a line");
    }
  };
  // The text chooses which.
  const std::size_t choice = size;
  check("genetic", {.objective = static_cast<Objective>(choice % std::size(kObjectiveNames)),
                    .max_nodes = choice % 2 == 0 ? 0 : 4,
                    .effort = 0.1});
  check(kPolicyNames[1 + choice % (std::size(kPolicyNames) - 1)], {});
  return 0;
}
