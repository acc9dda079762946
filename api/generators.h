// Random values of the types in this folder, for property tests.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/hints.h"
#include "api/metadata.h"
#include "api/model.h"
#include "api/quantity.h"
#include "api/time.h"

namespace adaptdl::generate {

inline std::string Name() {
  return *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'b', 'z', '0', '9')));
}

// Valid UTF-8, with what needs escaping.
inline std::string Text() {
  const auto piece =
      rc::gen::element<std::string>("a", "Z", "0", " ", "\"", "\\", "\n", "\x01", "/", "ä", "€", "𝄞");
  std::string text;
  for (const std::string& one : *rc::gen::container<std::vector<std::string>>(piece)) text += one;
  return text;
}

template <typename Make>
auto Maybe(const Make& make) {
  return *rc::gen::arbitrary<bool>() ? std::optional(make()) : std::nullopt;
}

template <typename Make>
auto List(const Make& make) {
  std::vector<decltype(make())> list(*rc::gen::inRange<std::size_t>(0, 4));
  std::generate(list.begin(), list.end(), make);
  return list;
}

template <typename Make>
auto Map(const Make& make) {
  std::map<std::string, decltype(make())> map;
  for (const std::string& key : List(Text)) map[key] = make();
  return map;
}

inline std::int64_t Size() { return *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 53); }
inline std::int64_t Amount() { return *rc::gen::inRange<std::int64_t>(0, INT64_MAX); }
inline bool Flag() { return *rc::gen::arbitrary<bool>(); }

// Not negative, from the smallest to the largest.
inline double Positive() {
  const double value = *rc::gen::arbitrary<double>();
  return value < 0 ? -value : value;
}

inline Time PointInTime() {
  return Time(
      std::chrono::microseconds(*rc::gen::inRange<std::int64_t>(-62167219200'000000, 253402300800'000000)));
}

inline Quantity Amounts() {
  return Quantity::Parse(std::to_string(*rc::gen::inRange<std::int64_t>(-INT64_MAX, INT64_MAX)) +
                         *rc::gen::element<std::string>("n", "u", "m", ""))
      .value();
}

// Two in order, each of which may be absent.
struct Bounds {
  std::optional<std::int64_t> min, max;
};
inline Bounds Ordered(std::int64_t (*make)()) {
  Bounds bounds{Maybe(make), Maybe(make)};
  if (bounds.min && bounds.max && *bounds.min > *bounds.max) std::swap(bounds.min, bounds.max);
  return bounds;
}

inline PerfParams Perf() {
  const double gamma = 1 + 9.0 * *rc::gen::inRange(0, 1001) / 1000;
  return {Positive(), Positive(), Positive(), Positive(), Positive(), Positive(), gamma};
}

inline GradParams Grad() { return {Positive(), Positive()}; }

inline Observation SomeObservation() {
  const std::int64_t a = Size();
  const std::int64_t b = Size();
  return {std::min(a, b), std::max(a, b), Size(), Positive() + 1e-9, Positive() + 1e-9};
}

inline Hints SomeHints() {
  const Bounds local = Ordered(Size);
  const Bounds batch = Ordered(Size);
  return {.init_batch_size = batch.min,
          .min_local_bsz = local.min,
          .max_local_bsz = local.max,
          .global_batch_size = Maybe(Size),
          .max_batch_size = batch.max,
          .max_profiled_replicas = Maybe(Size),
          .gradient_accumulation = Maybe(Flag),
          .grad_params = Maybe(Grad),
          .perf_params = Maybe(Perf),
          .progress = Maybe(Positive),
          .total_progress = Maybe(Positive),
          .epochs = Maybe(Size),
          .finished_epochs = Maybe(Size),
          .checkpoint_seconds = Maybe(Positive),
          .restart_seconds = Maybe(Positive),
          .profile = *rc::gen::container<std::vector<Observation>>(*rc::gen::inRange(0, 4),
                                                                   rc::gen::exec(SomeObservation))};
}

inline Condition SomeCondition() {
  return {.type = Text(),
          .status = *rc::gen::element<std::string>("True", "False", "Unknown"),
          .reason = Text(),
          .message = Text(),
          .last_transition_time = Maybe(PointInTime)};
}

inline Owner SomeOwner() { return {Text(), Text(), Text(), Text()}; }

inline Metadata SomeMetadata() {
  return {.name = Name(),
          .name_space = Text(),
          .uid = Text(),
          .resource_version = Text(),
          .generation = Amount(),
          .labels = Map(Text),
          .annotations = Map(Text),
          .creation_timestamp = Maybe(PointInTime),
          .deletion_timestamp = Maybe(PointInTime),
          .owner = Maybe(SomeOwner)};
}

}  // namespace adaptdl::generate
