#include "runtime/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <mutex>
#include <set>
#include <utility>

#include "prometheus/check_names.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/metric_family.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"

namespace adaptdl {

template <typename T>
class MetricFamily {
 public:
  MetricFamily(std::shared_ptr<prometheus::Registry> registry, prometheus::Family<T>& family,
               std::vector<std::string> labels, std::vector<double> bounds)
      : registry_(std::move(registry)),
        family_(family),
        labels_(std::move(labels)),
        bounds_(std::move(bounds)) {
    if (labels_.empty()) Series({});  // Visible as zero before anything happens.
  }

  // The lock spans finding the series and updating it: Remove frees what another thread would have found.
  template <typename Update>
  void Apply(LabelValues values, Update update) {
    const std::lock_guard lock(mutex_);
    update(Series(values));
  }

  void Remove(LabelValues values) {
    const std::lock_guard lock(mutex_);
    family_.Remove(&Series(values));
  }

 private:
  T& Series(LabelValues values) {
    assert(values.size() == labels_.size());
    prometheus::Labels labels;
    const auto* value = values.begin();
    for (const std::string& name : labels_) {
      labels[name] = value == values.end() ? "" : Printable(*value++);
    }
    if constexpr (std::is_same_v<T, prometheus::Histogram>) {
      return family_.Add(labels, bounds_);
    } else {
      return family_.Add(labels);
    }
  }

  std::shared_ptr<prometheus::Registry> registry_;  // Owns family_.
  prometheus::Family<T>& family_;
  const std::vector<std::string> labels_;
  const std::vector<double> bounds_;
  std::mutex mutex_;
};

void Counter::Increment(LabelValues labels, double by) const {
  if (family_) family_->Apply(labels, [by](prometheus::Counter& counter) { counter.Increment(by); });
}

void Gauge::Set(double value, LabelValues labels) const {
  if (family_) family_->Apply(labels, [value](prometheus::Gauge& gauge) { gauge.Set(value); });
}

void Gauge::Remove(LabelValues labels) const {
  if (family_) family_->Remove(labels);
}

void Histogram::Observe(double value, LabelValues labels) const {
  if (family_)
    family_->Apply(labels, [value](prometheus::Histogram& histogram) { histogram.Observe(value); });
}

struct Metrics::State {
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  std::mutex mutex;
  std::set<std::string> names;

  template <typename T, typename Builder>
  Result<std::shared_ptr<MetricFamily<T>>> Add(Builder builder, const std::string& name,
                                               std::string_view help, std::vector<std::string> labels,
                                               std::vector<double> bounds) {
    if (!prometheus::CheckMetricName(name)) {
      return Invalid("metric " + Printable(name) + ": not a name that Prometheus takes");
    }
    std::set<std::string> distinct;
    for (const std::string& label : labels) {
      if (!prometheus::CheckLabelName(label) || label == "le" || !distinct.insert(label).second) {
        return Invalid("metric " + name + ": label " + Printable(label) +
                       " is malformed, reserved or repeated");
      }
    }
    const std::lock_guard lock(mutex);
    if (!names.insert(name).second) return Invalid("metric " + name + ": created twice");
    prometheus::Family<T>& family = builder.Name(name).Help(Printable(help)).Register(*registry);
    return std::make_shared<MetricFamily<T>>(registry, family, std::move(labels), std::move(bounds));
  }
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

Result<Counter> Metrics::AddCounter(const std::string& name, std::string_view help,
                                    std::vector<std::string> labels) {
  return state_->Add<prometheus::Counter>(prometheus::BuildCounter(), name, help, std::move(labels), {})
      .map([](auto family) {
        Counter counter;
        counter.family_ = std::move(family);
        return counter;
      });
}

Result<Gauge> Metrics::AddGauge(const std::string& name, std::string_view help,
                                std::vector<std::string> labels) {
  return state_->Add<prometheus::Gauge>(prometheus::BuildGauge(), name, help, std::move(labels), {})
      .map([](auto family) {
        Gauge gauge;
        gauge.family_ = std::move(family);
        return gauge;
      });
}

Result<Histogram> Metrics::AddHistogram(const std::string& name, std::string_view help,
                                        std::vector<double> bounds, std::vector<std::string> labels) {
  const bool finite = std::all_of(bounds.begin(), bounds.end(), [](double b) { return std::isfinite(b); });
  if (!finite || std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()) != bounds.end()) {
    return Invalid("metric " + Printable(name) + ": the bounds must be finite and rising");
  }
  return state_
      ->Add<prometheus::Histogram>(prometheus::BuildHistogram(), name, help, std::move(labels),
                                   std::move(bounds))
      .map([](auto family) {
        Histogram histogram;
        histogram.family_ = std::move(family);
        return histogram;
      });
}

std::string Metrics::Render() const {
  std::vector<prometheus::MetricFamily> families = state_->registry->Collect();
  std::sort(families.begin(), families.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (prometheus::MetricFamily& family : families) {
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace adaptdl
