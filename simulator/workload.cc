#include "simulator/workload.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <random>
#include <set>

#include "api/model.h"
#include "simulator/csv.h"

namespace adaptdl {
namespace {

constexpr std::string_view kHeader = "name,time,application,num_replicas,batch_size\n";

// Names are shown to people and written into files without quotes.
std::string ReadName(CsvReader& reader, std::string_view column) {
  constexpr std::size_t kLongest = 100;
  std::string name(reader.Text(column));
  if (name.empty() || name.size() > kLongest || name != Printable(name)) {
    reader.Refuse(column, "expected 1 to 100 printable characters");
  }
  return name;
}

double ReadTime(CsvReader& reader) {
  const double time = reader.Number("time");
  if (time < 0) reader.Refuse("time", "must not be negative");
  return time;
}

std::string Shortest(double value) {
  std::array<char, 32> buffer = {};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

struct Kind {
  std::string_view application;
  double share;  // Of the jobs.
  struct Tuned {
    std::int64_t replicas, batch_size;
  };
  std::array<Tuned, 3> tuned;  // One is as likely as the next.
};

// Many small jobs and few large ones, in about the proportions of the OSDI'21 paper's workloads.
constexpr Kind kKinds[] = {
    {"recommender", 0.37, {{{1, 32768}, {1, 32768}, {1, 32768}}}},  // Small: 72 %.
    {"resnet", 0.35, {{{4, 1024}, {8, 2048}, {16, 4096}}}},
    {"transformer", 0.10, {{{4, 64}, {8, 128}, {16, 256}}}},  // Medium: 20 %.
    {"speech", 0.10, {{{4, 160}, {8, 320}, {12, 640}}}},
    {"detector", 0.065, {{{4, 32}, {4, 64}, {8, 64}}}},           // Large.
    {"language", 0.015, {{{16, 1600}, {24, 3200}, {32, 6400}}}},  // Extra large.
};

// The engine's output is the same everywhere; what the standard library's distributions make of it is not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double Uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  // From 0 to below 1.

  const Kind& Job() {
    double left = Uniform();
    for (const Kind& kind : kKinds) {
      if (left < kind.share) return kind;
      left -= kind.share;
    }
    return kKinds[0];  // Only where rounding left something over.
  }

  const Kind::Tuned& Tuned(const Kind& kind) {
    return kind.tuned[static_cast<std::size_t>(Uniform() * static_cast<double>(kind.tuned.size()))];
  }

  // Whole seconds in `hours`; one hour, the fourth of eight, is three times as busy as the others.
  double Arrival(double hours) {
    constexpr double kBusier = 3;
    const double rush = std::min(hours / 8, 1.0);
    const double before = hours * 3 / 8;
    const double at = Uniform() * (hours + (kBusier - 1) * rush);  // In hours, as if the rush took longer.
    const double in_rush = std::clamp(at - before, 0.0, kBusier * rush);
    return std::floor((at - in_rush * (1 - 1 / kBusier)) * 3600);
  }

 private:
  std::mt19937_64 engine_;
};

bool Earlier(const WorkloadJob& a, const WorkloadJob& b) { return a.submitted < b.submitted; }

}  // namespace

Result<Workload> ParseWorkload(std::string_view text) {
  Workload workload;
  std::set<std::string> names;
  CsvReader reader(text, {"name", "time", "application", "num_replicas", "batch_size"});
  while (reader.Next()) {
    WorkloadJob job = {.name = ReadName(reader, "name"),
                       .submitted = ReadTime(reader),
                       .application = ReadName(reader, "application"),
                       .tuned_replicas = reader.Integer("num_replicas", 1, kMaxSize),
                       .tuned_batch_size = reader.Integer("batch_size", 1, kMaxSize)};
    if (!names.insert(job.name).second) reader.Refuse("name", "another job has the same");
    workload.push_back(std::move(job));
  }
  if (auto ok = reader.Finish(); !ok) return tl::unexpected(ok.error());
  std::stable_sort(workload.begin(), workload.end(), Earlier);
  return workload;
}

std::string FormatWorkload(const Workload& workload) {
  std::string text(kHeader);
  for (const WorkloadJob& job : workload) {
    text += job.name + "," + Shortest(job.submitted) + "," + job.application + "," +
            std::to_string(job.tuned_replicas) + "," + std::to_string(job.tuned_batch_size) + "\n";
  }
  return text;
}

Workload GenerateWorkload(const GenerateOptions& options) {
  Random random(options.seed);
  Workload workload;
  for (std::int64_t i = 0; i < options.jobs; ++i) {
    const double submitted = random.Arrival(options.hours);
    const Kind& kind = random.Job();
    const Kind::Tuned& tuned = random.Tuned(kind);
    workload.push_back({"", submitted, std::string(kind.application), tuned.replicas, tuned.batch_size});
  }
  std::stable_sort(workload.begin(), workload.end(), Earlier);
  for (std::size_t i = 0; i < workload.size(); ++i) {
    workload[i].name = workload[i].application + "-" + std::to_string(i);
  }
  return workload;
}

}  // namespace adaptdl
