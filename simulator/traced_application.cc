#include "simulator/traced_application.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>

#include "simulator/csv.h"

namespace adaptdl {
namespace {

namespace fs = std::filesystem;

using Curve = TracedApplication::Curve;
using Placements = TracedApplication::Placements;
using Epoch = TracedApplication::Epoch;
using Validations = TracedApplication::Validations;

constexpr std::int64_t kMostNodes = 16;  // Of the measured cluster; more are taken for as slow as all of it.

// What the files do not say: how long the paper's jobs train, and what keeps them from adapting.
struct Known {
  std::string_view name;
  int epochs;
  std::optional<std::int64_t> most_local_bsz = {};
  std::optional<std::int64_t> fixed_batch_size = {};
  std::optional<std::int64_t> max_replicas = {};
};
constexpr Known kKnown[] = {
    {.name = "bert", .epochs = 2},
    {.name = "cifar10", .epochs = 100},
    {.name = "deepspeech2", .epochs = 80},
    {.name = "imagenet", .epochs = 90},
    {.name = "ncf", .epochs = 10, .fixed_batch_size = 32768, .max_replicas = 1},
    {.name = "yolov3", .epochs = 50, .most_local_bsz = 8},
};

const Known* FindKnown(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kKnown), std::end(kKnown),
                                         [&](const Known& known) { return known.name == name; });
  return found == std::end(kKnown) ? nullptr : found;
}

// The replicas on the nodes as digits, beginning where that is smallest: the ring of nodes has no first one.
std::string SmallestRotation(std::string digits) {
  std::string best = digits;
  for (std::size_t i = 1; i < digits.size(); ++i) {
    std::rotate(digits.begin(), digits.begin() + 1, digits.end());
    best = std::min(best, digits);
  }
  return best;
}

Result<std::string> ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(ErrorCode::kNotFound, "cannot be opened");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return Fail(ErrorCode::kUnavailable, "cannot be read");
  return text;
}

// Parses a file, and puts its path in front of what is wrong with it.
template <typename Parse>
auto ReadFile(const fs::path& path, Parse parse) -> decltype(parse(std::string_view())) {
  return ReadText(path)
      .and_then([&](const std::string& text) { return parse(text); })
      .map_error([&](Error error) {
        error.message = Printable(path.string()) + ": " + error.message;
        return error;
      });
}

StepTime ReadStepTime(CsvReader& reader) {
  const StepTime time = {.step = reader.Number("step_time"), .sync = reader.Number("sync_time")};
  if (time.sync < 0 || time.sync >= time.step) {
    reader.Refuse("sync_time", "must be at least 0 and less than step_time");
  }
  return time;
}

std::int64_t ReadBatchSize(CsvReader& reader) { return reader.Integer("local_bsz", 1, kMaxSize); }

Result<Placements> ParsePlacements(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  Placements placements;
  CsvReader reader(text, {"placement", "local_bsz", "step_time", "sync_time"});
  while (reader.Next()) {
    const std::string_view digits = reader.Text("placement");
    if (digits.empty() || digits.size() > kLongest ||
        digits.find_first_not_of("123456789") != std::string_view::npos) {
      reader.Refuse("placement", "expected the replicas on each node, one digit from 1 to 9 for a node");
      break;
    }
    Curve& curve = placements[SmallestRotation(std::string(digits))];
    const std::int64_t local_bsz = ReadBatchSize(reader);
    if (!curve.emplace(local_bsz, ReadStepTime(reader)).second) {
      reader.Refuse("local_bsz", "measured twice for this placement");
    }
  }
  return reader.Finish().map([&] { return placements; });
}

Result<std::vector<MeasuredStep>> ParseScalability(std::string_view text) {
  std::vector<MeasuredStep> steps;
  CsvReader reader(text, {"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"});
  while (reader.Next()) {
    const std::int64_t nodes = reader.Integer("num_nodes", 1, kMaxSize);
    const std::int64_t replicas = reader.Integer("num_replicas", nodes, kMaxSize);
    const std::int64_t local_bsz = ReadBatchSize(reader);
    steps.push_back(
        {{static_cast<double>(nodes), static_cast<double>(replicas), static_cast<double>(local_bsz)},
         ReadStepTime(reader)});
  }
  return reader.Finish().map([&] { return steps; });
}

Result<std::vector<Epoch>> ParseValidation(std::string_view text) {
  std::vector<Epoch> epochs;
  CsvReader reader(text, {"progress", "grad_sqr", "grad_var"});
  while (reader.Next()) {
    const Epoch epoch = {reader.Number("progress"), {reader.Number("grad_sqr"), reader.Number("grad_var")}};
    if (epoch.progress <= (epochs.empty() ? 0 : epochs.back().progress))
      reader.Refuse("progress", "must rise from 0 on");
    if (epoch.gradient.sqr < 0) reader.Refuse("grad_sqr", "must not be negative");
    if (epoch.gradient.var < 0) reader.Refuse("grad_var", "must not be negative");
    epochs.push_back(epoch);
  }
  return reader.Finish().map([&] { return epochs; });
}

// The mean over the placements that look the same to the interpolation, followed by the larger spreads.
std::vector<MeasuredStep> Average(const Placements& placements, std::span<const MeasuredStep> scalability) {
  struct Sum {
    StepTime time;
    double count = 0;
  };
  std::map<std::array<double, 3>, Sum> sums;
  for (const auto& [digits, curve] : placements) {
    const auto replicas = std::accumulate(digits.begin(), digits.end(), 0,
                                          [](int sum, char digit) { return sum + (digit - '0'); });
    for (const auto& [local_bsz, time] : curve) {
      Sum& sum = sums[{static_cast<double>(digits.size()), static_cast<double>(replicas),
                       static_cast<double>(local_bsz)}];
      sum.time.step += time.step;
      sum.time.sync += time.sync;
      ++sum.count;
    }
  }
  std::vector<MeasuredStep> points;
  points.reserve(sums.size() + scalability.size());
  for (const auto& [at, sum] : sums)
    points.push_back({at, {sum.time.step / sum.count, sum.time.sync / sum.count}});
  points.insert(points.end(), scalability.begin(), scalability.end());
  return points;
}

// The entries of a directory by name: its own order is of no meaning.
Result<std::vector<fs::path>> List(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    paths.push_back(entry->path());
  }
  if (error) return Fail(ErrorCode::kNotFound, Printable(directory.string()) + ": " + error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The batch size of validation-<batch>.csv; 0 for other files, nothing where it is none.
std::optional<std::int64_t> BatchSizeOf(std::string_view file_name) {
  constexpr std::string_view kPrefix = "validation-";
  constexpr std::string_view kSuffix = ".csv";
  if (!file_name.starts_with(kPrefix) || !file_name.ends_with(kSuffix)) return 0;
  file_name.remove_prefix(kPrefix.size());
  file_name.remove_suffix(kSuffix.size());
  std::int64_t size = 0;
  const char* end = file_name.data() + file_name.size();
  const auto [stop, error] = std::from_chars(file_name.data(), end, size);
  if (error != std::errc() || stop != end || size < 1 || size > kMaxSize) return std::nullopt;
  return size;
}

Result<Validations> ReadValidations(const fs::path& directory) {
  const Result<std::vector<fs::path>> files = List(directory);
  if (!files) return tl::unexpected(files.error());
  Validations validations;
  for (const fs::path& path : *files) {
    const std::optional<std::int64_t> batch_size = BatchSizeOf(path.filename().string());
    if (batch_size == 0) continue;
    if (!batch_size) return Invalid(Printable(path.string()) + ": expected a batch size in its name");
    Result<std::vector<Epoch>> epochs = ReadFile(path, ParseValidation);
    if (!epochs) return tl::unexpected(epochs.error());
    if (!validations.emplace(*batch_size, *std::move(epochs)).second) {
      return Invalid(Printable(path.string()) + ": its batch size has another file");
    }
  }
  if (validations.empty())
    return Fail(ErrorCode::kNotFound, Printable(directory.string()) + ": no validation-<batch>.csv");
  return validations;
}

int ShortestValidation(const Validations& validations) {
  std::size_t rows = std::numeric_limits<int>::max();
  for (const auto& [batch_size, epochs] : validations) rows = std::min(rows, epochs.size());
  return static_cast<int>(rows);
}

double Between(double low, double high, double share) { return low + (high - low) * share; }

// Where `key` lies in a sorted map: the neighbours, and its share of the way from the first to the second.
// Beyond the ends both are the last one.
template <typename Value>
std::tuple<const Value&, const Value&, double> Neighbours(const std::map<std::int64_t, Value>& values,
                                                          double key) {
  const auto above = values.lower_bound(static_cast<std::int64_t>(std::ceil(key)));
  if (above == values.end()) return {values.rbegin()->second, values.rbegin()->second, 0};
  if (above == values.begin()) return {above->second, above->second, 0};
  const auto below = std::prev(above);
  const auto low = static_cast<double>(below->first);
  return {below->second, above->second, (key - low) / (static_cast<double>(above->first) - low)};
}

}  // namespace

Result<std::unique_ptr<const TracedApplication>> TracedApplication::Load(const std::string& directory) {
  const fs::path path = fs::path(directory).lexically_normal();
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  Result<Placements> placements = ReadFile(path / "placements.csv", ParsePlacements);
  if (!placements) return tl::unexpected(placements.error());
  const Result<std::vector<MeasuredStep>> scalability = ReadFile(path / "scalability.csv", ParseScalability);
  if (!scalability) return tl::unexpected(scalability.error());
  Result<Validations> validations = ReadValidations(path);
  if (!validations) return tl::unexpected(validations.error());
  Result<StepInterpolation> others = StepInterpolation::Create(Average(*placements, *scalability));
  if (!others) return Invalid(Printable(path.string()) + ": " + others.error().message);
  if (const Known* known = FindKnown(name);
      known != nullptr && known->epochs > ShortestValidation(*validations)) {
    return Invalid(Printable(path.string()) + ": a validation file has fewer than " +
                   std::to_string(known->epochs) + " epochs");
  }
  return std::unique_ptr<const TracedApplication>(
      new TracedApplication(name, *std::move(placements), *std::move(others), *std::move(validations)));
}

TracedApplication::TracedApplication(const std::string& name, Placements placements, StepInterpolation others,
                                     Validations validations)
    : placements_(std::move(placements)), others_(std::move(others)), validations_(std::move(validations)) {
  const auto& [init_batch_size, first] = *validations_.begin();
  spec_.name = name;
  spec_.init_batch_size = init_batch_size;
  spec_.max_batch_size = validations_.rbegin()->first;
  spec_.data_size = static_cast<double>(init_batch_size) * first.front().progress;
  spec_.epochs = ShortestValidation(validations_);
  spec_.min_local_bsz = kMaxSize;
  spec_.max_local_bsz = 1;
  for (const auto& [digits, curve] : placements_) {
    most_nodes_ = std::max(most_nodes_, digits.size());
    spec_.min_local_bsz = std::min(spec_.min_local_bsz, curve.begin()->first);
    spec_.max_local_bsz = std::max(spec_.max_local_bsz, curve.rbegin()->first);
  }
  if (const Known* known = FindKnown(name)) {
    spec_.epochs = known->epochs;
    const std::int64_t most = std::min(spec_.max_local_bsz, known->most_local_bsz.value_or(kMaxSize));
    spec_.max_local_bsz = std::max(spec_.min_local_bsz, most);
    spec_.fixed_batch_size = known->fixed_batch_size;
    spec_.max_replicas = known->max_replicas;
  }
  progress_.assign(static_cast<std::size_t>(spec_.epochs) + 1, std::numeric_limits<double>::infinity());
  progress_[0] = 0;
  for (const auto& [batch_size, epochs] : validations_) {
    for (std::size_t i = 1; i < progress_.size(); ++i)
      progress_[i] = std::min(progress_[i], epochs[i - 1].progress);
  }
}

StepTime TracedApplication::Step(std::span<const int> placement, std::int64_t local_bsz) const {
  const auto size = static_cast<double>(local_bsz);
  const bool has_digits =
      std::all_of(placement.begin(), placement.end(), [](int count) { return count >= 1 && count <= 9; });
  if (has_digits && placement.size() <= most_nodes_) {
    std::string digits;
    for (const int count : placement) digits.push_back(static_cast<char>('0' + count));
    if (const auto found = placements_.find(SmallestRotation(digits)); found != placements_.end()) {
      const auto& [low, high, share] = Neighbours(found->second, size);
      return {Between(low.step, high.step, share), Between(low.sync, high.sync, share)};
    }
  }
  const auto nodes = std::min(static_cast<std::int64_t>(placement.size()), kMostNodes);
  const auto replicas = std::accumulate(placement.begin(), placement.end(), std::int64_t{0});
  return others_.At({static_cast<double>(nodes), static_cast<double>(replicas), size});
}

GradParams TracedApplication::Gradient(double batch_size, int epoch) const {
  const auto& [low, high, share] = Neighbours(validations_, batch_size);
  const auto at = [epoch](const std::vector<Epoch>& epochs) {
    return epochs[std::min(static_cast<std::size_t>(std::max(epoch, 0)), epochs.size() - 1)].gradient;
  };
  return {Between(at(low).sqr, at(high).sqr, share), Between(at(low).var, at(high).var, share)};
}

double TracedApplication::Progress(int epoch) const {
  return progress_[static_cast<std::size_t>(std::clamp(epoch, 0, spec_.epochs))];
}

Result<Applications> LoadTraces(const std::string& directory) {
  const Result<std::vector<fs::path>> paths = List(directory);
  if (!paths) return tl::unexpected(paths.error());
  Applications applications;
  for (const fs::path& path : *paths) {
    std::error_code error;
    if (!fs::is_directory(path, error) || path.filename().string().starts_with('.')) continue;
    Result<std::unique_ptr<const TracedApplication>> loaded = TracedApplication::Load(path.string());
    if (!loaded) return tl::unexpected(loaded.error());
    const std::string name = (*loaded)->spec().name;
    applications.emplace(name, *std::move(loaded));
  }
  if (applications.empty()) return Fail(ErrorCode::kNotFound, Printable(directory) + ": no applications");
  return applications;
}

}  // namespace adaptdl
