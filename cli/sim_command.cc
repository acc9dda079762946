// adaptdl sim: what a policy would have made of a workload.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/command.h"
#include "cli/sim_output.h"
#include "simulator/replay.h"
#include "simulator/report.h"

namespace adaptdl {
namespace {

constexpr const char* kGenerated = "generated";

struct Options {
  std::string traces;
  std::vector<std::string> workloads;
  std::vector<std::string> policies = {"genetic"};
  std::string objective = "completion";
  ReplayOptions replay;
  bool no_declared_epochs = false, no_family_priors = false, no_family_batch_sizes = false;
  bool no_event_rounds = false;
  bool no_remaining_work = false, no_attained_service = false, no_restart_cost = false;
  double effort = 0.1;  // Of thousands of rounds; more makes no difference to completion times.
  bool json = false;
  std::string report;
  std::size_t threads = std::max(std::thread::hardware_concurrency(), 1U);
};

struct ChosenPolicy {
  std::string name;
  std::optional<Objective> objective;  // Of the genetic one alone.
};

// "genetic", "genetic/paper", "fifo".
Result<ChosenPolicy> ParsePolicy(const std::string& text, const std::string& usual_objective) {
  const std::size_t slash = text.find('/');
  ChosenPolicy chosen{text.substr(0, slash), std::nullopt};
  if (std::find(std::begin(kPolicyNames), std::end(kPolicyNames), chosen.name) == std::end(kPolicyNames)) {
    std::string names;
    for (const std::string_view name : kPolicyNames) names += (names.empty() ? "" : ", ") + std::string(name);
    return Invalid(Printable(chosen.name) + ": no such policy; there is " + names);
  }
  if (chosen.name != "genetic") {
    if (slash != std::string::npos)
      return Invalid(Printable(text) + ": only the genetic policy has objectives");
    return chosen;
  }
  const Result<Objective> objective =
      ParseObjective(slash == std::string::npos ? usual_objective : text.substr(slash + 1));
  if (!objective) return tl::unexpected(objective.error());
  chosen.objective = *objective;
  return chosen;
}

struct NamedWorkload {
  std::string name;
  Workload jobs;
};

// Replays that share nothing but what they only read.
struct Replays {
  Applications applications;
  std::vector<NamedWorkload> workloads;
  std::vector<ChosenPolicy> policies;

  [[nodiscard]] std::size_t size() const { return workloads.size() * policies.size(); }
};

Result<void> CheckApplications(const NamedWorkload& workload, const Applications& applications) {
  for (const WorkloadJob& job : workload.jobs) {
    if (applications.contains(job.application)) continue;
    std::string names;
    for (const auto& [name, application] : applications)
      names += (names.empty() ? "" : ", ") + Printable(name);
    return Invalid(InputName(workload.name) + ": job " + Printable(job.name) + ": there is no application " +
                   Printable(job.application) + "; there is " + names);
  }
  return {};
}

Result<Replays> Load(const Options& options, CommandIo& io) {
  Replays out;
  for (const std::string& text : options.policies) {
    Result<ChosenPolicy> policy = ParsePolicy(text, options.objective);
    if (!policy) return tl::unexpected(policy.error());
    out.policies.push_back(*std::move(policy));
  }
  if (options.traces.empty()) {
    out.applications = SyntheticApplications();
  } else {
    Result<Applications> traced = LoadTraces(options.traces);
    if (!traced) return tl::unexpected(traced.error());
    out.applications = *std::move(traced);
  }
  if (options.workloads.empty()) {
    out.workloads.push_back({kGenerated, GenerateWorkload({.seed = options.replay.seed})});
  }
  for (const std::string& path : options.workloads) {
    const Result<std::string> text = ReadInput(path, io.in);
    if (!text) return tl::unexpected(text.error());
    Result<Workload> jobs = ParseWorkload(*text);
    if (!jobs) return Invalid(InputName(path) + ": " + jobs.error().message);
    out.workloads.push_back({path, *std::move(jobs)});
    if (auto known = CheckApplications(out.workloads.back(), out.applications); !known) {
      return tl::unexpected(known.error());
    }
  }
  return out;
}

Result<SimResult> RunOne(const Replays& replays, std::size_t index, const Options& options,
                         const ReplayProgress& progress) {
  const NamedWorkload& workload = replays.workloads[index / replays.policies.size()];
  const ChosenPolicy& policy = replays.policies[index % replays.policies.size()];
  const bool own = policy.objective == Objective::kCompletion;
  ReplayOptions replay = options.replay;
  replay.declared_epochs = !options.no_declared_epochs && own;
  replay.family_priors = !options.no_family_priors && own;
  replay.family_batch_sizes = !options.no_family_batch_sizes;
  replay.event_rounds = !options.no_event_rounds && own;
  const PolicyOptions policy_options = {.objective = policy.objective.value_or(Objective::kCompletion),
                                        .min_nodes = replay.min_nodes,
                                        .max_nodes = replay.max_nodes,
                                        .effort = options.effort,
                                        .use_remaining = !options.no_remaining_work,
                                        .use_attained = !options.no_attained_service,
                                        .use_restart_cost = !options.no_restart_cost,
                                        .remaining_time = {},
                                        .share_networks = false};
  Result<SimResult> result =
      Replay(replays.applications, workload.jobs, policy.name, policy_options, replay, progress);
  if (!result) return Fail(result.error().code, InputName(workload.name) + ": " + result.error().message);
  result->workload = workload.name;
  result->policy = policy.name;
  result->objective = policy.objective ? ToString(*policy.objective) : "";
  return result;
}

// How far all replays are, on one line of a terminal that is rewritten. For any number of threads.
class Progress {
 public:
  Progress(std::size_t replays, CommandIo& io)
      : err_(io.err), visible_(io.err_terminal.is_terminal), shares_(replays, 0) {}
  ~Progress() {
    if (!shown_.empty()) err_ << "\r" << std::string(shown_.size(), ' ') << "\r" << std::flush;
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(std::size_t replay, double share) {
    if (!visible_) return;
    const std::lock_guard lock(mutex_);
    shares_[replay] = share;
    double sum = 0;
    for (const double each : shares_) sum += each;
    const auto done = std::count(shares_.begin(), shares_.end(), kDone);
    std::string text = std::to_string(done) + " of " + std::to_string(shares_.size()) + " replays, " +
                       std::to_string(std::lround(100 * sum / static_cast<double>(shares_.size()))) + " %";
    if (text == shown_) return;
    text.resize(std::max(text.size(), shown_.size()), ' ');
    err_ << "\r" << text << std::flush;
    shown_ = std::move(text);
  }
  void Finish(std::size_t replay) { Update(replay, kDone); }

 private:
  static constexpr double kDone = 1;

  std::ostream& err_;
  bool visible_;
  std::mutex mutex_;
  std::vector<double> shares_;
  std::string shown_;
};

Result<std::vector<SimResult>> RunAll(const Replays& replays, const Options& options, CommandIo& io) {
  Progress progress(replays.size(), io);
  std::vector<std::optional<Result<SimResult>>> results(replays.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < results.size() && !failed; i = next++) {
      // The very last bit is told by Finish.
      results[i] =
          RunOne(replays, i, options, [&](double share) { progress.Update(i, std::min(share, 0.999)); });
      if (!*results[i]) failed = true;
      progress.Finish(i);
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min(options.threads, results.size()); ++t) others.emplace_back(work);
    work();
  }
  // They begin in order: whatever ran beside it, the first of them that fails is always the same.
  std::vector<SimResult> out;
  for (std::optional<Result<SimResult>>& result : results) {
    if (!result) continue;
    if (!*result) return tl::unexpected(result->error());
    out.push_back(**std::move(result));
  }
  return out;
}

Result<void> RunSim(const Options& options, CommandIo& io) {
  const Result<Replays> replays = Load(options, io);
  if (!replays) return tl::unexpected(replays.error());
  if (!options.report.empty()) {
    if (auto writable = CheckWritable(options.report); !writable) return writable;
  }
  Result<std::vector<SimResult>> results = RunAll(*replays, options, io);
  if (!results) return tl::unexpected(results.error());
  const SimResults sim{*std::move(results), replays->policies.size(), options.replay.max_nodes > 0};
  if (options.json) {
    io.out << SimJson(sim);
  } else {
    io.out << SimTable(sim, io.terminal);
    if (replays->workloads.size() == 1) io.out << "\n" << CompletionPlot(sim, io.terminal);
  }
  if (options.report.empty()) return {};
  return WriteWhole(options.report, HtmlReport(sim.results));
}

CLI::App* AddGenerateCommand(CLI::App& sim, Run& run) {
  auto options = std::make_shared<GenerateOptions>();
  options->seed = 0;  // As `adaptdl sim` has it: both make the same workload.
  CLI::App* command = sim.add_subcommand("generate", "Print a workload of the built-in applications, as CSV");
  command->footer(
      "  adaptdl sim generate --seed 7 > day.csv\n"
      "  adaptdl sim --workload day.csv --seed 7");
  command->add_option("--jobs", options->jobs, "How many jobs")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--hours", options->hours, "In which time they are submitted")
      ->check(CLI::Range(0.01, 10000.0))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Another one, another workload")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->callback([options, &run] {
    if (std::isnan(options->hours)) throw CLI::ValidationError("--hours", "is no number");
    run = [options](CommandIo& io) -> Result<void> {
      io.out << FormatWorkload(GenerateWorkload(*options));
      return {};
    };
  });
  return command;
}

void AddClusterOptions(CLI::App& command, ReplayOptions& replay) {
  command.add_option("--nodes", replay.nodes, "Nodes of the cluster")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command.add_option("--gpus", replay.gpus, "On each node")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--interval", replay.interval, "Seconds from round to round")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
  command.add_option("--seed", replay.seed, "Of the search, and of a generated workload")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  CLI::Option* least = command.add_option("--min-nodes", replay.min_nodes, "Autoscaling: least nodes")
                           ->check(CLI::Range(0, 10000));
  CLI::Option* most = command.add_option("--max-nodes", replay.max_nodes, "Autoscaling: most nodes")
                          ->check(CLI::Range(1, 10000));
  least->needs(most);
  command.add_option("--node-delay", replay.node_delay, "Seconds until a requested node is there")
      ->check(CLI::Range(0.0, 86400.0))
      ->capture_default_str();
}

void CheckOptions(const Options& options) {
  const ReplayOptions& replay = options.replay;
  if (replay.max_nodes > 0 && replay.max_nodes < replay.min_nodes) {
    throw CLI::ValidationError("--max-nodes", "is below --min-nodes");
  }
  for (const auto& [name, value] : {std::pair("--interval", replay.interval),
                                    {"--node-delay", replay.node_delay},
                                    {"--effort", options.effort}}) {
    if (std::isnan(value)) throw CLI::ValidationError(name, "is no number");  // CLI::Range takes it.
  }
  for (const std::string& text : options.policies) {
    if (const auto policy = ParsePolicy(text, options.objective); !policy) {
      throw CLI::ValidationError("--policy", policy.error().message);
    }
  }
}

}  // namespace

void AddSimCommand(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("sim", "Replay workloads under policies, in simulated time");
  command->footer(
      "A workload is a CSV file with the columns name,time,application,num_replicas,batch_size; without one, "
      "160\n"
      "jobs of the built-in applications are made up, as `adaptdl sim generate` prints them. Policies are "
      "genetic,\n"
      "tiresias, optimus, fifo and static; genetic takes an objective: completion (our own), or as "
      "published\n"
      "release or paper. With these two, and with the other policies, everything of our own is off: "
      "declared\n"
      "epochs, family priors and event rounds. The same seed gives the same results, whatever the number of "
      "threads.\n"
      "  adaptdl sim --workload day.csv --policy genetic,genetic/paper,tiresias --report day.html");
  CLI::Option* workloads =
      command->add_option("--workload", options->workloads, "Files, or - for standard input")
          ->type_name("FILE");
  command
      ->add_option("--traces", options->traces,
                   "Measured applications (default: built-in ones, made from formulas)")
      ->type_name("DIR")
      ->needs(workloads);
  command->add_option("--policy", options->policies, "Names with commas between; NAME/OBJECTIVE, too")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--objective", options->objective, "Of genetic where --policy gives none")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kObjectiveNames), std::end(kObjectiveNames))))
      ->capture_default_str();
  AddClusterOptions(*command, options->replay);
  command->add_flag("--no-declared-epochs", options->no_declared_epochs,
                    "Jobs do not tell how long they are");
  command->add_flag("--no-family-priors", options->no_family_priors,
                    "Jobs of one application share no profiles");
  command->add_flag("--no-family-batch-sizes", options->no_family_batch_sizes,
                    "Shared profiles size a new job, but do not choose its first batch size");
  command->add_flag("--no-event-rounds", options->no_event_rounds, "Rounds at the interval only");
  command->add_flag("--no-remaining-work", options->no_remaining_work,
                    "Do not weigh jobs by what they declare");
  command->add_flag("--no-attained-service", options->no_attained_service,
                    "Do not weigh jobs by what they had");
  command->add_flag("--no-restart-cost", options->no_restart_cost, "Take every restart for the usual 30 s");
  command->add_option("--effort", options->effort, "How long to search, relative to the usual")
      ->check(CLI::Range(0.01, 1000.0))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON, with the completion time of every job");
  command->add_option("--report", options->report, "Write a page for the browser, too")
      ->type_name("FILE.html");
  command->add_option("--jobs,-j", options->threads, "Replays at a time (default: one for each core)")
      ->check(CLI::Range(1, 1024));
  const CLI::App* generate = AddGenerateCommand(*command, run);
  command->callback([options, generate, &run] {
    if (generate->parsed()) return;
    CheckOptions(*options);
    run = [options](CommandIo& io) { return RunSim(*options, io); };
  });
}

}  // namespace adaptdl
