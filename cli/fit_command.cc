// adaptdl fit: from measured step times to the parameters that explain them.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/json.h"
#include "api/model_codec.h"
#include "api/profile.h"
#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/table.h"
#include "goodput/fit.h"
#include "goodput/model.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

struct Options {
  std::string profile;
  bool json = false;
  bool all = false;
};

constexpr std::size_t kRowsShown = 20;

constexpr std::array<const char*, 7> kMeanings = {
    "a step's fixed compute time (s)",         "compute time for each sample (s)",
    "synchronising between nodes (s)",         "and for each replica past the second (s)",
    "synchronising inside a node (s)",         "and for each replica past the second (s)",
    "overlap of both: 1 none, 10 nearly full",
};

// One observation with what the fitted model says of it.
struct Check {
  Observation observation;
  double accum;
  double optim;

  [[nodiscard]] double AccumError() const { return accum / observation.accum_step_time - 1; }
  [[nodiscard]] double OptimError() const { return optim / observation.optim_step_time - 1; }
  [[nodiscard]] double Worst() const { return std::max(std::abs(AccumError()), std::abs(OptimError())); }
};

std::vector<Check> CheckAll(const PerfParams& params, const std::vector<Observation>& observations) {
  std::vector<Check> checks;
  for (const Observation& o : observations) {
    const double accum = AccumTime(params, static_cast<double>(o.atomic_bsz));
    checks.push_back(
        {o, accum, OptimTime(params.gamma, accum, NetworkTime(params, {o.num_nodes, o.num_replicas}))});
  }
  return checks;
}

std::string AsJson(const Fit& fit, const std::vector<Check>& checks) {
  nlohmann::ordered_json params;
  for (const PerfField& field : kPerfFields) params[field.name] = fit.params.*field.value;
  nlohmann::ordered_json observations = nlohmann::ordered_json::array();
  for (const Check& c : checks) {
    observations.push_back({{"num_nodes", c.observation.num_nodes},
                            {"num_replicas", c.observation.num_replicas},
                            {"atomic_bsz", c.observation.atomic_bsz},
                            {"accum_step_time", c.observation.accum_step_time},
                            {"accum_step_time_predicted", c.accum},
                            {"accum_error", c.AccumError()},
                            {"optim_step_time", c.observation.optim_step_time},
                            {"optim_step_time_predicted", c.optim},
                            {"optim_error", c.OptimError()}});
  }
  // perfParams as in hints, so that `adaptdl predict` takes this output as it is.
  const nlohmann::ordered_json document = {
      {"perfParams", params}, {"objective", fit.objective}, {"observations", observations}};
  return document.dump(2) + "\n";
}

TableCell ErrorCell(double error) {
  const double size = std::abs(error);
  return {SignedPercent(error), size < 0.05 ? Style::kGreen : size < 0.2 ? Style::kYellow : Style::kRed};
}

void Print(const Fit& fit, std::vector<Check> checks, bool all, CommandIo& io) {
  Table params{{{"PARAMETER"}, {"VALUE", Align::kRight}, {"MEANING", Align::kLeft, true}}, {}};
  for (std::size_t i = 0; i < kPerfFields.size(); ++i) {
    params.rows.push_back({kPerfFields[i].name, Short(fit.params.*kPerfFields[i].value, 4), kMeanings[i]});
  }
  io.out << Render(params, io.terminal) << "\n";

  const std::size_t total = checks.size();
  if (!all && total > kRowsShown) {
    std::stable_sort(checks.begin(), checks.end(),
                     [](const Check& a, const Check& b) { return a.Worst() > b.Worst(); });
    checks.erase(checks.begin() + kRowsShown, checks.end());
  }
  Table table{{{"NODES", Align::kRight},
               {"REPLICAS", Align::kRight},
               {"LOCAL BATCH", Align::kRight},
               {"ACCUM (s)", Align::kRight},
               {"MODEL", Align::kRight, true},
               {"ERROR", Align::kRight},
               {"OPTIM (s)", Align::kRight},
               {"MODEL", Align::kRight, true},
               {"ERROR", Align::kRight}},
              {}};
  for (const Check& c : checks) {
    table.rows.push_back({std::to_string(c.observation.num_nodes), std::to_string(c.observation.num_replicas),
                          std::to_string(c.observation.atomic_bsz), Short(c.observation.accum_step_time),
                          Short(c.accum), ErrorCell(c.AccumError()), Short(c.observation.optim_step_time),
                          Short(c.optim), ErrorCell(c.OptimError())});
  }
  io.out << Render(table, io.terminal);
  if (checks.size() < total) {
    io.out << Paint(io.terminal, Style::kDim,
                    "the " + std::to_string(kRowsShown) + " worst of " + std::to_string(total) +
                        " observations; --all shows every one")
           << "\n";
  }
  io.out << "\nobjective " << Short(fit.objective, 4) << " over " << total
         << (total == 1 ? " observation" : " observations") << " (0 is perfect)\n";
}

Result<void> RunFit(const Options& options, CommandIo& io) {
  const Result<std::string> text = ReadInput(options.profile, io.in);
  if (!text) return tl::unexpected(text.error());
  const auto observations = ParseProfile(*text);
  if (!observations) return Invalid(InputName(options.profile) + ": " + observations.error().message);
  const Result<Fit> fit = FitPerfParams(*observations);
  if (!fit) return Invalid(InputName(options.profile) + ": " + fit.error().message);
  std::vector<Check> checks = CheckAll(fit->params, *observations);
  if (options.json) {
    io.out << AsJson(*fit, checks);
  } else {
    Print(*fit, std::move(checks), options.all, io);
  }
  return {};
}

}  // namespace

void AddFitCommand(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("fit", "Learn performance parameters from measured step times");
  command->footer(
      "PROFILE is a JSON list of observations\n"
      "  [{\"num_nodes\": 1, \"num_replicas\": 2, \"atomic_bsz\": 64,\n"
      "    \"accum_step_time\": 0.48, \"optim_step_time\": 0.51}, ...]\n"
      "with times in seconds, or an object with a list under each of these names.");
  command->add_option("PROFILE", options->profile, "File with the observations, or - for standard input")
      ->required();
  command->add_flag("--json", options->json, "Print JSON; `adaptdl predict` reads it");
  command->add_flag("--all", options->all, "Show every observation, not only the worst ones");
  command->callback([options, &run] { run = [options](CommandIo& io) { return RunFit(*options, io); }; });
}

}  // namespace adaptdl
