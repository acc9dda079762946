#include "cli/sim_output.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "cli/plot.h"
#include "cli/table.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::ordered_json;

std::string Fixed(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string PolicyName(const SimResult& result) {
  return result.objective.empty() ? result.policy : result.policy + "/" + result.objective;
}

// What a row shows: of one replay, or the mean of several.
struct Row {
  std::string workload, policy;
  double average = 0, p50 = 0, p99 = 0, makespan = 0, restarts = 0, gpu_hours = 0, node_hours = 0,
         slowdown = 0;
};

constexpr std::array kFigures = {&Row::average,  &Row::p50,       &Row::p99,        &Row::makespan,
                                 &Row::restarts, &Row::gpu_hours, &Row::node_hours, &Row::slowdown};

Row RowOf(const SimResult& result) {
  const auto jobs = static_cast<double>(std::max<std::size_t>(result.jobs.size(), 1));
  return {.workload = std::filesystem::path(result.workload).filename().string(),
          .policy = PolicyName(result),
          .average = result.average_jct,
          .p50 = result.p50_jct,
          .p99 = result.p99_jct,
          .makespan = result.makespan,
          .restarts = static_cast<double>(result.restarts) / jobs,
          .gpu_hours = result.gpu_hours,
          .node_hours = result.node_hours,
          .slowdown = result.worst_slowdown};
}

std::vector<Row> Rows(const SimResults& sim) {
  std::vector<Row> rows;
  for (const SimResult& result : sim.results) rows.push_back(RowOf(result));
  const std::size_t workloads = rows.size() / sim.policies;
  if (workloads < 2) return rows;
  for (std::size_t p = 0; p < sim.policies; ++p) {
    Row mean{.workload = "mean", .policy = rows[p].policy};
    for (std::size_t w = 0; w < workloads; ++w) {
      for (const auto figure : kFigures)
        mean.*figure += rows[w * sim.policies + p].*figure / static_cast<double>(workloads);
    }
    rows.push_back(std::move(mean));
  }
  return rows;
}

// Below one is better than the first policy.
TableCell Ratio(double value, double first) {
  if (first <= 0) return "";
  const double ratio = value / first;
  return {Fixed(ratio, 2), ratio < 0.995 ? Style::kGreen : ratio > 1.005 ? Style::kRed : Style::kPlain};
}

// Beside the file itself: a rename works within one file system only.
std::string Temporary(const std::string& path) { return path + "." + std::to_string(getpid()) + ".part"; }

tl::unexpected<Error> CannotWrite(const std::string& path, const std::string& why) {
  return Fail(ErrorCode::kUnavailable, Printable(path) + ": " + why);
}

Result<void> WriteTemporary(const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(Temporary(path), std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return {};
  const int error = errno;
  std::error_code ignored;
  std::filesystem::remove(Temporary(path), ignored);
  return CannotWrite(path, error != 0 ? std::generic_category().message(error) : "cannot be written");
}

}  // namespace

std::string Duration(double seconds) {
  if (seconds < 59.5) return Fixed(seconds, 0) + " s";
  if (seconds < 7200) return Fixed(seconds / 60, 1) + " min";
  return Fixed(seconds / 3600, 1) + " h";
}

std::string SimJson(const SimResults& sim) {
  ordered_json results = ordered_json::array();
  for (const SimResult& result : sim.results) {
    ordered_json times = ordered_json::object();
    for (const SimulatedJob& job : result.jobs) times[job.name] = job.CompletionTime();
    results.push_back({{"workload", result.workload},
                       {"policy", result.policy},
                       {"objective", result.objective},
                       {"average_jct", result.average_jct},
                       {"p50_jct", result.p50_jct},
                       {"p99_jct", result.p99_jct},
                       {"makespan", result.makespan},
                       {"restarts", result.restarts},
                       {"gpu_hours", result.gpu_hours},
                       {"node_hours", result.node_hours},
                       {"worst_slowdown", result.worst_slowdown},
                       {"mean_slowdown", result.mean_slowdown},
                       {"rounds", result.rounds},
                       {"jct", std::move(times)}});
  }
  // A path need not be UTF-8.
  return ordered_json({{"results", std::move(results)}})
             .dump(2, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

std::string SimTable(const SimResults& sim, const Terminal& terminal) {
  const bool compared = sim.policies > 1;
  Table table{{{"WORKLOAD"}, {"POLICY"}, {"AVERAGE", Align::kRight}}, {}};
  if (compared) table.columns.push_back({"RATIO", Align::kRight});
  for (const char* title : {"MEDIAN", "P99", "MAKESPAN"}) table.columns.push_back({title, Align::kRight});
  for (const char* title : {"RESTARTS/JOB", "GPU-HOURS"})
    table.columns.push_back({title, Align::kRight, true});
  if (sim.autoscaling) table.columns.push_back({"NODE-HOURS", Align::kRight});
  table.columns.push_back({"SLOWDOWN", Align::kRight, true});
  const std::vector<Row> rows = Rows(sim);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    std::vector<TableCell> cells = {row.workload, row.policy, Duration(row.average)};
    if (compared) cells.push_back(Ratio(row.average, rows[i - i % sim.policies].average));
    for (const double time : {row.p50, row.p99, row.makespan}) cells.emplace_back(Duration(time));
    for (const double figure : {row.restarts, row.gpu_hours}) cells.emplace_back(Fixed(figure, 1));
    if (sim.autoscaling) cells.emplace_back(Fixed(row.node_hours, 1));
    cells.emplace_back(row.slowdown > 0 ? Fixed(row.slowdown, 1) : "");
    table.rows.push_back(std::move(cells));
  }
  return Render(table, terminal);
}

std::string CompletionPlot(const SimResults& sim, const Terminal& terminal) {
  constexpr double kHour = 3600;
  Plot plot{.title = "Jobs done (%)", .x_label = "hours after they were submitted", .series = {}};
  plot.width = std::min<std::size_t>(plot.width, terminal.width);
  plot.height = 12;
  for (std::size_t p = 0; p < std::min<std::size_t>(sim.policies, 2); ++p) {
    std::vector<double> times;
    for (const SimulatedJob& job : sim.results[p].jobs) times.push_back(job.CompletionTime());
    std::sort(times.begin(), times.end());
    PlotSeries series{PolicyName(sim.results[p]), {{0, 0}}};
    for (const double time : times) {  // A stair for each job.
      series.points.push_back({time / kHour, series.points.back().y});
      series.points.push_back(
          {time / kHour, series.points.back().y + 100 / static_cast<double>(times.size())});
    }
    plot.series.push_back(std::move(series));
  }
  return Render(plot, terminal);
}

Result<void> CheckWritable(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) return CannotWrite(path, "Is a directory");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return CannotWrite(path, "is no regular file");  // A rename would replace the device.
  }
  if (Result<void> written = WriteTemporary(path, ""); !written) return written;
  std::filesystem::remove(Temporary(path), ignored);
  return {};
}

Result<void> WriteWhole(const std::string& path, const std::string& text) {
  if (Result<void> written = WriteTemporary(path, text); !written) return written;
  std::error_code error;
  std::filesystem::rename(Temporary(path), path, error);
  if (!error) return {};
  std::error_code ignored;
  std::filesystem::remove(Temporary(path), ignored);
  return CannotWrite(path, error.message());
}

}  // namespace adaptdl
