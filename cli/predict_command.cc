// adaptdl predict: what a job would make of more replicas and nodes.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/job.h"
#include "cli/command.h"
#include "cli/numbers.h"
#include "cli/plot.h"
#include "cli/table.h"
#include "goodput/model.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

struct Options {
  std::string hints;
  std::vector<double> perf;
  std::vector<double> grad;
  std::optional<std::int64_t> init_batch_size;
  std::optional<std::int64_t> max_batch_size;
  std::optional<std::int64_t> min_local_bsz;
  std::optional<std::int64_t> max_local_bsz;
  bool accumulation = false;
  std::int64_t gpus_per_node = 4;
  std::int64_t max_replicas = 32;
  bool json = false;
};

struct Prediction {
  Placement at;
  BatchConfig config;
  double throughput;
  double efficiency;
  double speedup;

  [[nodiscard]] std::int64_t BatchSize() const {
    return at.replicas * config.atomic_bsz * (config.accum_steps + 1);
  }
};

Result<Prediction> Predict(const GoodputModel& model, const BatchLimits& limits, Placement at, double base) {
  const Result<BatchConfig> best = model.Best(at, limits);
  if (!best) return tl::unexpected(best.error());
  Prediction p{at, *best, model.Throughput(at, best->atomic_bsz, best->accum_steps), 0, best->goodput / base};
  p.efficiency = model.Efficiency(static_cast<double>(p.BatchSize()));
  return p;
}

// What the file and the flags say together; flags win.
Result<Hints> Collect(const Options& options, CommandIo& io) {
  Hints hints;
  if (!options.hints.empty()) {
    const Result<std::string> text = ReadInput(options.hints, io.in);
    if (!text) return tl::unexpected(text.error());
    Result<Hints> parsed = ParseReportedHints(*text);
    if (!parsed) return Invalid(InputName(options.hints) + ": " + parsed.error().message);
    hints = *std::move(parsed);
  }
  if (const auto& p = options.perf; !p.empty())
    hints.perf_params = PerfParams{p[0], p[1], p[2], p[3], p[4], p[5], p[6]};
  if (const auto& g = options.grad; !g.empty()) hints.grad_params = GradParams{g[0], g[1]};
  if (options.init_batch_size) hints.init_batch_size = options.init_batch_size;
  if (options.max_batch_size) hints.max_batch_size = options.max_batch_size;
  if (options.min_local_bsz) hints.min_local_bsz = options.min_local_bsz;
  if (options.max_local_bsz) hints.max_local_bsz = options.max_local_bsz;
  if (options.accumulation) hints.gradient_accumulation = true;
  if (!hints.perf_params) return Invalid("no performance parameters: give hints with perfParams, or --perf");
  if (!hints.init_batch_size) {
    return Invalid("no initial batch size: give hints with initBatchSize, or --init-batch-size");
  }
  return hints;
}

struct Report {
  // 1, 2, 3... replicas on as few nodes as hold them; where that is one, also on two: the model tells one
  // node from several, not how many.
  std::vector<Prediction> predictions;
  bool gradient_known;
};

Result<Report> MakeReport(const Hints& hints, const Options& options) {
  // Without gradient statistics every sample counts as much as at the initial batch size.
  const GradParams grad = hints.grad_params.value_or(GradParams{0, 1});
  const auto model = GoodputModel::Create(*hints.perf_params, grad, *hints.init_batch_size);
  if (!model) return tl::unexpected(model.error());
  const BatchLimits limits{hints.max_batch_size, hints.min_local_bsz, hints.max_local_bsz,
                           hints.gradient_accumulation.value_or(false)};
  const auto base = model->Best({1, 1}, limits);
  if (!base) return tl::unexpected(base.error());
  Report report{{}, hints.grad_params.has_value()};
  for (std::int64_t replicas = 1; replicas <= options.max_replicas; ++replicas) {
    const std::int64_t fewest = (replicas - 1) / options.gpus_per_node + 1;
    const std::int64_t most = std::max(fewest, std::min<std::int64_t>(replicas, 2));
    for (std::int64_t nodes = fewest; nodes <= most; ++nodes) {
      const auto prediction = Predict(*model, limits, {nodes, replicas}, base->goodput);
      if (!prediction) return tl::unexpected(prediction.error());
      report.predictions.push_back(*prediction);
    }
  }
  return report;
}

std::string AsJson(const Report& report) {
  nlohmann::ordered_json predictions = nlohmann::ordered_json::array();
  for (const Prediction& p : report.predictions) {
    predictions.push_back({{"num_nodes", p.at.nodes},
                           {"num_replicas", p.at.replicas},
                           {"batch_size", p.BatchSize()},
                           {"atomic_bsz", p.config.atomic_bsz},
                           {"accum_steps", p.config.accum_steps},
                           {"throughput", p.throughput},
                           {"efficiency", p.efficiency},
                           {"goodput", p.config.goodput},
                           {"speedup", p.speedup}});
  }
  return nlohmann::ordered_json({{"predictions", predictions}}).dump(2) + "\n";
}

// 1, 2, 3, 4, 6, 8, 12, 16...: every doubling, and half-way between from 2 on.
bool IsShown(std::int64_t replicas, std::int64_t last) {
  while (replicas > 3 && replicas % 2 == 0) replicas /= 2;
  return replicas <= 3 || replicas == last;
}

void Print(const Report& report, CommandIo& io) {
  Table table{{{"REPLICAS", Align::kRight},
               {"NODES", Align::kRight},
               {"BATCH", Align::kRight},
               {"LOCAL", Align::kRight},
               {"ACCUM", Align::kRight, true},
               {"SAMPLES/S", Align::kRight, true},
               {"EFFICIENCY", Align::kRight},
               {"GOODPUT", Align::kRight},
               {"SPEEDUP", Align::kRight}},
              {}};
  Plot plot{
      .title = "Over one replica", .x_label = "replicas", .series = {{"goodput", {}}, {"samples/s", {}}}};
  plot.width = std::min<std::size_t>(plot.width, io.terminal.width);
  plot.height = 12;
  const Prediction& one = report.predictions.front();
  const Prediction* best = &one;
  std::int64_t plotted = 0;
  for (const Prediction& p : report.predictions) {
    if (p.speedup > best->speedup) best = &p;
    if (p.at.replicas > plotted) {  // The packed one comes first.
      plotted = p.at.replicas;
      plot.series[0].points.push_back({static_cast<double>(plotted), p.speedup});
      plot.series[1].points.push_back({static_cast<double>(plotted), p.throughput / one.throughput});
    }
    if (!IsShown(p.at.replicas, report.predictions.back().at.replicas)) continue;
    const double used = p.speedup / static_cast<double>(p.at.replicas);
    const Style style = used >= 0.7 ? Style::kGreen : used >= 0.4 ? Style::kYellow : Style::kRed;
    table.rows.push_back({std::to_string(p.at.replicas), std::to_string(p.at.nodes),
                          std::to_string(p.BatchSize()), std::to_string(p.config.atomic_bsz),
                          std::to_string(p.config.accum_steps), Short(p.throughput), Short(p.efficiency),
                          Short(p.config.goodput), TableCell(Short(p.speedup), style)});
  }
  io.out << Render(table, io.terminal) << "\n";
  if (plotted > 1) io.out << Render(plot, io.terminal) << "\n";
  io.out << "Most goodput at " << best->at.replicas << (best->at.replicas == 1 ? " replica" : " replicas")
         << ": " << Short(best->speedup) << " times that of one, at batch size " << best->BatchSize()
         << ".\n";
  if (!report.gradient_known) {
    io.out << Paint(io.terminal, Style::kYellow,
                    "No gradient statistics: efficiency is taken as 1 at every batch size.")
           << "\n";
  }
}

Result<void> RunPredict(const Options& options, CommandIo& io) {
  const Result<Hints> hints = Collect(options, io);
  if (!hints) return tl::unexpected(hints.error());
  const Result<Report> report = MakeReport(*hints, options);
  if (!report) return tl::unexpected(report.error());
  if (options.json) {
    io.out << AsJson(*report);
  } else {
    Print(*report, io);
  }
  return {};
}

}  // namespace

void AddPredictCommand(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("predict", "Show what a job makes of more replicas and nodes");
  command->footer(
      "HINTS is a JSON object: an AdaptDLJob, what it reports (its status.train), or what `adaptdl fit "
      "--json`\n"
      "prints. Flags stand in for it or override it:\n"
      "  kubectl get adljob NAME -o json | adaptdl predict -\n"
      "  adaptdl fit profile.json --json | adaptdl predict - --init-batch-size 128 --max-batch-size 4096");
  const CLI::Range size(std::int64_t{1}, kMaxSize);
  command->add_option("HINTS", options->hints, "File with the hints, or - for standard input");
  command->add_option("--perf", options->perf, "alpha_c,beta_c,alpha_n,beta_n,alpha_r,beta_r,gamma")
      ->delimiter(',')
      ->expected(7);
  command->add_option("--grad", options->grad, "Squared norm and variance of the gradient: sqr,var")
      ->delimiter(',')
      ->expected(2);
  command->add_option("--init-batch-size", options->init_batch_size, "Batch size of the user's settings")
      ->check(size);
  command
      ->add_option("--max-batch-size", options->max_batch_size,
                   "Largest total batch size (default: the initial one)")
      ->check(size);
  command->add_option("--min-local-bsz", options->min_local_bsz, "Smallest batch of one replica")
      ->check(size);
  command->add_option("--max-local-bsz", options->max_local_bsz, "Largest batch of one replica")->check(size);
  command->add_flag("--accumulation", options->accumulation, "Allow gradient accumulation");
  command->add_option("--gpus-per-node", options->gpus_per_node, "Replicas that a node holds")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--max-replicas", options->max_replicas, "How far to look")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON, with every number of replicas");
  command->callback([options, &run] { run = [options](CommandIo& io) { return RunPredict(*options, io); }; });
}

}  // namespace adaptdl
