// Events through a watch cache, and through the simulation.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "api/json.h"
#include "cluster/sim/virtual_clock.h"
#include "nlohmann/json.hpp"
#include "runtime/watch_cache.h"
#include "tests/bench/pods.h"
#include "tests/scenarios/scenario.h"

namespace adaptdl {
namespace {

// A cluster that has nothing to do but to hand out events.
class Hose final : public Cluster {
 public:
  void Get(const Ref&, Done<Object>) override {}
  void List(const Query&, std::size_t, const std::string&, Done<Page> done) override {
    clock->Post([done] { done(Page{.objects = {}, .resource_version = "1", .next = ""}); });
  }
  std::unique_ptr<Watch> WatchFrom(const Query&, const std::string&, WatchHandler to) override {
    handler = std::move(to);
    return std::make_unique<Watch>();
  }
  void Create(Kind, const Document&, Done<Object>) override {}
  void Apply(const Patch&, Done<Object>) override {}
  void Delete(const Deletion&, Done<void>) override {}
  void CheckTemplate(const std::string&, const PodTemplate&, Done<void>) override {}

  Clock* clock = nullptr;
  WatchHandler handler;
};

void EventsThroughCache(benchmark::State& state) {
  std::vector<Pod> pods;
  pods.reserve(5000);
  for (int i = 0; i < 5000; ++i) pods.push_back(ParsePod(PodJson("bench", i)).value());
  VirtualClock clock;
  Hose hose;
  hose.clock = &clock;
  const Logger log("bench");
  const auto job = [](const Pod& pod) {
    return std::vector<std::string>{pod.metadata.labels.at("adaptdl/job")};
  };
  WatchCache<Pod> cache(clock, hose, {}, log, {.indexes = {{"job", job}}});
  std::uint64_t changes = 0;
  cache.Subscribe([&](const Key&, const Pod*, const Pod*) { ++changes; });
  cache.Start();
  while (!hose.handler) clock.RunNext();
  std::uint64_t version = 1;
  std::size_t next = 0;
  for (auto _ : state) {
    Pod pod = pods[next++ % pods.size()];
    pod.metadata.resource_version = std::to_string(++version);
    WatchEvent event{.type = WatchEvent::Type::kModified, .resource_version = pod.metadata.resource_version};
    event.object = std::move(pod);
    hose.handler(std::move(event));
  }
  if (changes != static_cast<std::uint64_t>(state.iterations())) state.SkipWithError("events were lost");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(EventsThroughCache);

void SimulatedEvents(benchmark::State& state) {
  std::uint64_t seed = 0;
  std::uint64_t lines = 0;
  for (auto _ : state) lines += RunScenario(++seed).lines;
  state.SetItemsProcessed(static_cast<std::int64_t>(lines));
}
BENCHMARK(SimulatedEvents)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace adaptdl
