// What the program counts and measures, for Prometheus. A metric is created once, by name and help, with the
// names of its labels; whoever updates it gives one value for each of them.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace adaptdl {

using LabelValues = std::initializer_list<std::string_view>;

template <typename T>
class MetricFamily;

// The three kinds are cheap to copy and may be used from any thread, also after their Metrics is gone. One
// that was made by no Metrics measures nothing.
class Counter {
 public:
  void Increment(LabelValues labels = {}, double by = 1) const;  // Going down is not possible: ignored.

 private:
  friend class Metrics;
  std::shared_ptr<MetricFamily<prometheus::Counter>> family_;
};

class Gauge {
 public:
  void Set(double value, LabelValues labels = {}) const;
  void Remove(LabelValues labels) const;  // What it measured is gone: a stale value would mislead.

 private:
  friend class Metrics;
  std::shared_ptr<MetricFamily<prometheus::Gauge>> family_;
};

// Shows as NAME_bucket{le}, NAME_sum and NAME_count.
class Histogram {
 public:
  void Observe(double value, LabelValues labels = {}) const;

 private:
  friend class Metrics;
  std::shared_ptr<MetricFamily<prometheus::Histogram>> family_;
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Each fails when the name is taken, or Prometheus would refuse it or a label's name.
  Result<Counter> AddCounter(const std::string& name, std::string_view help,
                             std::vector<std::string> labels = {});
  Result<Gauge> AddGauge(const std::string& name, std::string_view help,
                         std::vector<std::string> labels = {});
  // `bounds`: upper bounds of the buckets, finite and rising; the one to infinity is added.
  Result<Histogram> AddHistogram(const std::string& name, std::string_view help, std::vector<double> bounds,
                                 std::vector<std::string> labels = {});

  // Everything in the text format 0.0.4, sorted by name and labels.
  std::string Render() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace adaptdl
