// adaptdl plan: what the scheduler would do with a cluster, as it is or changed.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/snapshot.h"
#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/table.h"
#include "cli/what_if.h"
#include "nlohmann/json.hpp"
#include "scheduler/policy/policy.h"

namespace adaptdl {
namespace {

struct Options {
  std::string snapshot;
  std::string policy = "genetic";
  std::string objective = "completion";
  std::uint64_t seed = 0;
  PolicyOptions search = {.effort = 3};  // Somebody looks at this one plan; a round comes every minute.
  std::int64_t add_nodes = 0;
  std::vector<std::string> remove_nodes;
  std::vector<std::string> add_jobs;
  bool json = false;

  [[nodiscard]] bool WhatIf() const { return add_nodes > 0 || !remove_nodes.empty() || !add_jobs.empty(); }
};

Result<Snapshot> ReadSnapshot(const Options& options, CommandIo& io) {
  const Result<std::string> text = ReadInput(options.snapshot, io.in);
  if (!text) return tl::unexpected(text.error());
  Result<Snapshot> snapshot = ParseSnapshot(*text);
  if (!snapshot) return Invalid(InputName(options.snapshot) + ": " + snapshot.error().message);
  return snapshot;
}

Result<Snapshot> Change(Result<Snapshot> snapshot, const Options& options, CommandIo& io) {
  if (snapshot && options.add_nodes > 0) {
    snapshot = AddNodes(*std::move(snapshot), options.add_nodes).map_error([](Error error) {
      error.message = "--add-nodes: " + error.message;
      return error;
    });
  }
  for (const std::string& name : options.remove_nodes) {
    if (snapshot) snapshot = RemoveNode(*std::move(snapshot), name);
  }
  for (const std::string& path : options.add_jobs) {
    if (!snapshot) break;
    const Result<std::string> text = ReadInput(path, io.in);
    if (!text) return tl::unexpected(text.error());
    snapshot = AddJobs(*std::move(snapshot), *text);
    if (!snapshot) return Invalid(InputName(path) + ": " + snapshot.error().message);
  }
  return snapshot;
}

std::string AsJson(const Proposal& plan) {
  nlohmann::ordered_json allocation = nlohmann::ordered_json::object();
  for (const auto& [job, nodes] : plan.allocation) allocation[job] = nodes;
  nlohmann::ordered_json reasons = nlohmann::ordered_json::object();
  for (const auto& [job, reason] : plan.reasons) reasons[job] = reason;
  const nlohmann::ordered_json document = {{"allocation", std::move(allocation)},
                                           {"objective", plan.objective},
                                           {"desired_nodes", plan.desired_nodes},
                                           {"reasons", std::move(reasons)}};
  return document.dump(2) + "\n";
}

std::string Count(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// Where a job runs; nothing where it waits.
std::vector<std::string> NodesOf(const Allocation& allocation, const std::string& job) {
  const auto found = allocation.find(job);
  std::vector<std::string> nodes = found == allocation.end() ? std::vector<std::string>() : found->second;
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::string Describe(const std::vector<std::string>& nodes) {
  if (nodes.empty()) return "waits";
  return std::to_string(nodes.size()) + " on " +
         Count(std::set<std::string>(nodes.begin(), nodes.end()).size(), "node");
}

// What becomes of a job that now runs on `base`, painted by how `other`, an alternative, compares with it.
TableCell Changed(const std::vector<std::string>& base, const std::vector<std::string>& other,
                  const std::vector<std::string>& after) {
  const bool moved = !after.empty() && after.size() == base.size() && after != base;
  return {Describe(after) + (moved ? ", moved" : ""), after.empty()                 ? Style::kRed
                                                      : after.size() > other.size() ? Style::kGreen
                                                      : after.size() < other.size() ? Style::kYellow
                                                                                    : Style::kPlain};
}

std::string ReasonOf(const Proposal& plan, const std::string& job) {
  const auto found = plan.reasons.find(job);
  return found == plan.reasons.end() ? "" : found->second;
}

// What a plan makes of its cluster.
struct Use {
  std::size_t running = 0, waiting = 0, replicas = 0, nodes = 0;
  std::int64_t gpus = 0, all_gpus = 0;
};

std::int64_t Gpus(const Resources& resources) {
  std::int64_t gpus = 0;
  for (const auto& [resource, amount] : resources) gpus += resource.ends_with("/gpu") ? amount : 0;
  return gpus;
}

Use UseOf(const Snapshot& snapshot, const Proposal& plan) {
  Use use;
  std::set<std::string> used;
  for (const auto& [name, job] : snapshot.jobs) {
    const std::vector<std::string> nodes = NodesOf(plan.allocation, name);
    used.insert(nodes.begin(), nodes.end());
    use.replicas += nodes.size();
    use.gpus += Gpus(job.resources) * static_cast<std::int64_t>(nodes.size());
    ++(nodes.empty() ? use.waiting : use.running);
  }
  use.nodes = used.size();
  for (const auto& [name, node] : snapshot.nodes) use.all_gpus += Gpus(node.resources);
  return use;
}

std::string OfAll(std::int64_t part, std::int64_t all) {
  return std::to_string(part) + " of " + std::to_string(all);
}

void Print(const Snapshot& snapshot, const Proposal& plan, CommandIo& io) {
  Table table{{{"JOB"}, {"BEFORE"}, {"AFTER"}, {"REASON"}}, {}};
  for (const auto& [name, job] : snapshot.jobs) {
    const std::vector<std::string> before = NodesOf(snapshot.base_allocations, name);
    const std::vector<std::string> after = NodesOf(plan.allocation, name);
    table.rows.push_back({name, Describe(before), Changed(before, before, after), ReasonOf(plan, name)});
  }
  const Use use = UseOf(snapshot, plan);
  io.out << Render(table, io.terminal) << "\n"
         << OfAll(use.gpus, use.all_gpus) << " GPUs on "
         << OfAll(static_cast<std::int64_t>(use.nodes), static_cast<std::int64_t>(snapshot.nodes.size()))
         << " nodes; " << use.running << " running, " << use.waiting << " waiting; objective "
         << Short(plan.objective, 4) << "; "
         << Count(static_cast<std::size_t>(std::max<std::int64_t>(plan.desired_nodes, 0)), "node")
         << " desired\n";
}

struct Planned {
  Snapshot snapshot;
  Proposal plan;
};

void PrintWhatIf(const Planned& now, const Planned& changed, CommandIo& io) {
  Table table{{{"JOB"}, {"NOW"}, {"PLAN"}, {"WHAT IF"}, {"REASON"}}, {}};
  for (const auto& [name, job] : changed.snapshot.jobs) {
    const std::vector<std::string> base = NodesOf(changed.snapshot.base_allocations, name);
    const std::vector<std::string> plan = NodesOf(now.plan.allocation, name);
    const std::vector<std::string> what_if = NodesOf(changed.plan.allocation, name);
    std::vector<TableCell> row = {name, "", "", Changed(base, plan, what_if), ReasonOf(changed.plan, name)};
    if (now.snapshot.jobs.contains(name)) {
      row[1] = Describe(base);
      row[2] = Changed(base, base, plan);
    }
    table.rows.push_back(std::move(row));
  }
  Table summary{{{""},
                 {"RUNNING", Align::kRight},
                 {"WAITING", Align::kRight},
                 {"REPLICAS", Align::kRight},
                 {"GPUS USED", Align::kRight},
                 {"NODES USED", Align::kRight},
                 {"DESIRED", Align::kRight}},
                {}};
  for (const auto& [title, planned] : {std::pair("plan", &now), {"what if", &changed}}) {
    const Use use = UseOf(planned->snapshot, planned->plan);
    summary.rows.push_back(
        {title, std::to_string(use.running),
         TableCell(std::to_string(use.waiting), use.waiting > 0 ? Style::kRed : Style::kPlain),
         std::to_string(use.replicas), OfAll(use.gpus, use.all_gpus),
         OfAll(static_cast<std::int64_t>(use.nodes),
               static_cast<std::int64_t>(planned->snapshot.nodes.size())),
         std::to_string(planned->plan.desired_nodes)});
  }
  io.out << Render(table, io.terminal) << "\n" << Render(summary, io.terminal);
}

Result<void> RunPlan(const Options& options, CommandIo& io) {
  PolicyOptions policy_options = options.search;
  const Result<Objective> objective = ParseObjective(options.objective);
  if (!objective) return tl::unexpected(objective.error());
  policy_options.objective = *objective;
  const auto policy = MakePolicy(options.policy, policy_options);
  if (!policy) return tl::unexpected(policy.error());
  const auto propose = [&](const Snapshot& snapshot) {
    Rng rng(options.seed);
    return (*policy)->Propose(snapshot, rng);
  };

  const Result<Snapshot> snapshot = ReadSnapshot(options, io);
  if (!snapshot) return tl::unexpected(snapshot.error());
  const Result<Snapshot> changed = Change(*snapshot, options, io);
  if (!changed) return tl::unexpected(changed.error());
  const Proposal plan = propose(*changed);
  if (options.json) {
    io.out << AsJson(plan);
  } else if (options.WhatIf()) {
    PrintWhatIf({*snapshot, propose(*snapshot)}, {*changed, plan}, io);
  } else {
    Print(*snapshot, plan, io);
  }
  return {};
}

}  // namespace

void AddPlanCommand(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plan", "Show what the scheduler would do with a cluster");
  command->footer(
      "SNAPSHOT is a JSON object with the cluster's jobs and nodes and where the jobs run now. The same "
      "snapshot\n"
      "and seed give the same plan. With --add-nodes, --remove-node or --add-job the plan for the snapshot "
      "as it\n"
      "is stands beside the plan for the changed one. A job's FILE holds jobs as in a snapshot, {\"NAME\":\n"
      "{\"resources\": {\"nvidia.com/gpu\": 1}}}, or an AdaptDLJob:\n"
      "  kubectl create --dry-run=client -o json -f job.yaml | adaptdl plan snapshot.json --add-job -");
  command->add_option("SNAPSHOT", options->snapshot, "File with the snapshot, or - for standard input")
      ->required();
  command->add_option("--policy", options->policy, "Who decides")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kPolicyNames), std::end(kPolicyNames))))
      ->capture_default_str();
  command->add_option("--objective", options->objective, "What the genetic policy maximises")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kObjectiveNames), std::end(kObjectiveNames))))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Of the search")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--effort", options->search.effort, "How long to search, relative to the usual")
      ->check(CLI::Range(0.01, 1000.0))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON; with changes the changed plan alone");
  command->add_option("--add-nodes", options->add_nodes, "What if there were so many further nodes?")
      ->check(CLI::Range(1, 1000));
  command->add_option("--remove-node", options->remove_nodes, "What if this node were gone? May be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--add-job", options->add_jobs, "What if these jobs came, too? May be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  CLI::Option* least = command->add_option("--min-nodes", options->search.min_nodes, "Least nodes to ask for")
                           ->check(CLI::Range(0, 100000));
  CLI::Option* most = command
                          ->add_option("--max-nodes", options->search.max_nodes,
                                       "Most nodes to ask for (default: the cluster keeps its size)")
                          ->check(CLI::Range(1, 100000));
  least->needs(most);
  command->callback([options, &run] {
    if (options->search.max_nodes > 0 && options->search.max_nodes < options->search.min_nodes) {
      throw CLI::ValidationError("--max-nodes", "is below --min-nodes");
    }
    if (std::isnan(options->search.effort)) throw CLI::ValidationError("--effort", "is no number");
    run = [options](CommandIo& io) { return RunPlan(*options, io); };
  });
}

}  // namespace adaptdl
