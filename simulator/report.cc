#include "simulator/report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "nlohmann/json.hpp"
#include "simulator/report_page.h"

namespace adaptdl {
namespace {

using Json = nlohmann::ordered_json;

// Numbers a thing by when it first came.
template <typename T>
class Numbering {
 public:
  std::size_t operator[](const T& value) {
    const auto [it, is_new] = numbers_.emplace(value, values_.size());
    if (is_new) values_.push_back(value);
    return it->second;
  }
  [[nodiscard]] const std::vector<T>& values() const { return values_; }

 private:
  std::map<T, std::size_t> numbers_;
  std::vector<T> values_;
};

// Null says that there is no such number.
Json Rounded(double value, double digits) {
  if (!std::isfinite(value)) return nullptr;
  return std::round(value * digits) / digits;
}

// Integers are what JSON writes shortest. The bound keeps nonsense from overflowing.
std::int64_t Tenths(double seconds) {
  constexpr double kMost = 1e14;
  if (std::isnan(seconds)) return 0;
  return std::llround(std::clamp(seconds * 10, -kMost, kMost));
}

Json SlowdownOrNull(double slowdown) { return slowdown > 0 ? Rounded(slowdown, 1000) : Json(nullptr); }

struct Tables {
  Numbering<std::string> workloads;
  Numbering<std::string> policies;
  Numbering<std::string> applications;
  Numbering<std::vector<int>> placements;
};

// Three integers for each span: tenths of a second since the end of the one before, its length, and twice the
// number of its placement, plus one where it restarts.
Json Spans(const std::vector<AllocationSpan>& spans, Tables& tables) {
  struct Span {
    std::int64_t start, end;
    std::size_t kind;
  };
  std::vector<Span> merged;
  for (const AllocationSpan& span : spans) {
    const Span next{Tenths(span.start), Tenths(span.end),
                    2 * tables.placements[span.placement] + (span.restarting ? 1 : 0)};
    if (next.end <= next.start) continue;
    if (!merged.empty() && merged.back().kind == next.kind && merged.back().end == next.start) {
      merged.back().end = next.end;
    } else {
      merged.push_back(next);
    }
  }
  Json out = Json::array();
  std::int64_t before = 0;
  for (const Span& span : merged) {
    out.push_back(span.start - before);
    out.push_back(span.end - span.start);
    out.push_back(span.kind);
    before = span.end;
  }
  return out;
}

Json Jobs(const std::vector<SimulatedJob>& jobs, Tables& tables) {
  Json out = Json::array();
  for (const SimulatedJob& job : jobs) {
    const double slowdown = job.alone_seconds > 0 ? job.CompletionTime() / job.alone_seconds : 0;
    out.push_back({job.name, tables.applications[job.application], Tenths(job.submitted),
                   Tenths(job.finished), std::max<std::int64_t>(job.restarts, 0),
                   Rounded(job.gpu_seconds / 3600, 1000), SlowdownOrNull(slowdown),
                   Spans(job.spans, tables)});
  }
  return out;
}

// Six integers for each sample that differs from the one before: tenths of a second since that one, nodes,
// GPUs, used GPUs, running and waiting jobs.
Json Samples(const std::vector<ClusterSample>& samples) {
  const auto state = [](const ClusterSample& s) {
    return std::tie(s.nodes, s.gpus, s.used_gpus, s.running, s.waiting);
  };
  Json out = Json::array();
  std::int64_t before = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const ClusterSample& s = samples[i];
    if (i > 0 && state(s) == state(samples[i - 1])) continue;
    for (const std::int64_t value :
         {Tenths(s.time) - before, std::int64_t{s.nodes}, std::int64_t{s.gpus}, std::int64_t{s.used_gpus},
          std::int64_t{s.running}, std::int64_t{s.waiting}}) {
      out.push_back(value);
    }
    before = Tenths(s.time);
  }
  return out;
}

std::string PolicyLabel(const SimResult& result) {
  std::string label = result.policy.empty() ? "(no policy)" : result.policy;
  if (!result.objective.empty()) label += " / " + result.objective;
  return label;
}

Json Data(const std::vector<SimResult>& results) {
  Tables tables;
  std::map<std::pair<std::string, std::string>, int> runs;
  Json out = Json::array();
  for (const SimResult& r : results) {
    const std::string workload = r.workload.empty() ? "(no name)" : r.workload;
    std::string policy = PolicyLabel(r);
    // The same twice, with another seed for instance, is shown as two.
    if (const int run = ++runs[{workload, policy}]; run > 1) policy += " (" + std::to_string(run) + ")";
    out.push_back({{"workload", tables.workloads[workload]},
                   {"policy", tables.policies[policy]},
                   {"average", Rounded(r.average_jct, 10)},
                   {"median", Rounded(r.p50_jct, 10)},
                   {"p99", Rounded(r.p99_jct, 10)},
                   {"makespan", Rounded(r.makespan, 10)},
                   {"restarts", r.restarts},
                   {"gpu_hours", Rounded(r.gpu_hours, 100)},
                   {"node_hours", Rounded(r.node_hours, 100)},
                   {"worst_slowdown", SlowdownOrNull(r.worst_slowdown)},
                   {"mean_slowdown", SlowdownOrNull(r.mean_slowdown)},
                   {"rounds", r.rounds},
                   {"cpu_seconds", Rounded(r.policy_cpu_seconds, 1000)},
                   {"jobs", Jobs(r.jobs, tables)},
                   {"samples", Samples(r.samples)}});
  }
  return {{"workloads", tables.workloads.values()},
          {"policies", tables.policies.values()},
          {"applications", tables.applications.values()},
          {"placements", tables.placements.values()},
          {"results", std::move(out)}};
}

// JSON that is safe inside a script element. Only strings hold '<', so that its escape means the same;
// without it, neither "</script>" nor "<!--" can end the element or change how it is read.
std::string ForScript(const Json& json) {
  const std::string text = json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string HtmlReport(const std::vector<SimResult>& results) {
  std::string page = ReportPage();
  return page.replace(page.find(kReportData), kReportData.size(), ForScript(Data(results)));
}

}  // namespace adaptdl
