#include "cluster/sim/sim_world.h"

#include <algorithm>
#include <utility>

#include "cluster/sim/sim_cluster.h"
#include "cluster/sim/sim_watch.h"

namespace adaptdl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The world's clock as one life of a process sees it: nothing runs once that life is over.
class ProcessClock final : public Clock {
 public:
  ProcessClock(VirtualClock& clock, std::shared_ptr<SimLife> life) : clock_(clock), life_(std::move(life)) {}

  Instant Now() const override { return clock_.Now(); }
  Time Wall() const override { return clock_.Wall(); }
  void Post(std::function<void()> task) override { clock_.Post(WhileAlive(std::move(task))); }
  Timer After(Duration delay, std::function<void()> task) override {
    return clock_.After(delay, WhileAlive(std::move(task)));
  }

 private:
  std::function<void()> WhileAlive(std::function<void()> task) const {
    return [life = life_, task = std::move(task)] {
      if (life->running) task();
    };
  }

  VirtualClock& clock_;
  std::shared_ptr<SimLife> life_;
};

// Seconds since the start, with six digits.
std::string Stamp(Instant now) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  const std::string fraction = std::to_string(us % 1'000'000);
  return std::to_string(us / 1'000'000) + "." + std::string(6 - fraction.size(), '0') + fraction;
}

}  // namespace

struct SimWorld::Process {
  std::string name;
  Factory factory;
  int lives = 0;
  // Of the present life; the process goes first.
  std::shared_ptr<SimLife> life;
  std::unique_ptr<ProcessClock> clock;
  std::unique_ptr<SimCluster> cluster;
  std::shared_ptr<void> object;
};

SimWorld::SimWorld(SimOptions options)
    : options_(std::move(options)), rng_(options_.seed), server_(options_.server, options_.seed) {
  auto life = std::make_shared<SimLife>();
  life->process = "admin";
  admin_ = std::make_unique<SimCluster>(*this, std::move(life));
  server_.SetListener([this](const Change& change) { OnChange(change); });
  Trace("world", "seed " + std::to_string(options_.seed) + ", faults: " + options_.faults.ToString());
  ScheduleFaults();
}

SimWorld::~SimWorld() {
  for (auto& [name, process] : processes_) Destroy(*process);
}

Cluster& SimWorld::admin() { return *admin_; }

void SimWorld::ScheduleFaults() {
  for (const FaultPlan::Window& outage : options_.faults.outages) {
    clock_.Schedule(outage.begin - clock_.Now(), [this] {
      Trace("world", "API server away (fault)");
      for (auto& kind : watches_) {
        for (auto& [number, watch] : kind) watch->OnOutage();
      }
    });
    clock_.Schedule(outage.end - clock_.Now(), [this] { Trace("world", "API server back"); });
  }
  for (const Instant at : options_.faults.history_expiries) {
    clock_.Schedule(at - clock_.Now(), [this] {
      Trace("world", "history forgotten (fault)");
      server_.ForgetHistory();
    });
  }
}

void SimWorld::CutOff(const std::string& process) {
  if (!cut_off_.insert(process).second) return;
  Trace(process, "is cut off (fault)");
  const Instant end = std::min(clock_.Now() + rng_.Between(seconds(1), seconds(60)), options_.faults.end);
  // New connections work from then on; it may take longer until the old ones are given up.
  const Instant noticed = std::min(end + rng_.Between(seconds(0), seconds(60)), options_.faults.end);
  for (auto& kind : watches_) {
    for (auto& [number, watch] : kind) {
      if (watch->process() == process) watch->FallSilent(noticed);
    }
  }
  clock_.Schedule(end - clock_.Now(), [this, process] {
    cut_off_.erase(process);
    Trace(process, "is back");
  });
}

bool SimWorld::Reaches(const SimLife& life) const {
  return !life.faulty() || (!cut_off_.contains(life.process) && !OutageEnd());
}

std::optional<Instant> SimWorld::OutageEnd() const {
  for (const FaultPlan::Window& outage : options_.faults.outages) {
    if (outage.begin <= clock_.Now() && clock_.Now() < outage.end) return outage.end;
  }
  return std::nullopt;
}

void SimWorld::Trace(std::string_view who, std::string_view what) {
  if (!options_.keep_trace && !sink_) return;
  std::string line = Stamp(clock_.Now());
  line.append(" ").append(who).append(" ").append(what);
  if (sink_) sink_(line);
  if (options_.keep_trace) trace_.append(line).append("\n");
}

std::shared_ptr<void> SimWorld::Listen(std::function<void(const Change&)> listener) {
  auto handle = std::make_shared<std::function<void(const Change&)>>(std::move(listener));
  std::erase_if(listeners_, [](const auto& one) { return one.expired(); });
  listeners_.push_back(handle);
  return handle;
}

void SimWorld::OnChange(const Change& change) {
  for (auto& [number, watch] : watches_[static_cast<std::size_t>(change.ref.kind)]) watch->OnChange(change);
  for (const auto& one : listeners_) {
    if (const auto listener = one.lock()) (*listener)(change);
  }
  if (server_.has_garbage()) ScheduleCollector();
}

void SimWorld::ScheduleCollector() {
  if (std::exchange(collector_scheduled_, true)) return;
  Duration delay = rng_.Between(milliseconds(50), seconds(2));
  if (const auto end = OutageEnd()) delay += *end - clock_.Now();
  clock_.Schedule(delay, [this] {
    collector_scheduled_ = false;
    if (OutageEnd()) return ScheduleCollector();
    for (const Ref& ref : server_.Collect(clock_.Wall())) {
      Trace("collector", "DELETE " + std::string(ToString(ref.kind)) + " " + ToString(ref.key));
    }
  });
}

void SimWorld::AddProcess(const std::string& name, Factory factory) {
  auto& process = processes_[name];
  process = std::make_unique<Process>();
  process->name = name;
  process->factory = std::move(factory);
  Start(*process);
}

void SimWorld::Start(Process& process) {
  Trace(process.name, "START");
  process.life = std::make_shared<SimLife>();
  process.life->process = process.name;
  process.life->number = ++process.lives;
  process.clock = std::make_unique<ProcessClock>(clock_, process.life);
  process.cluster = std::make_unique<SimCluster>(*this, process.life);
  process.object = process.factory(*process.clock, *process.cluster);
}

void SimWorld::Destroy(Process& process) {
  if (process.life == nullptr) return;
  process.life->running = false;
  process.object.reset();
  process.cluster.reset();
  process.clock.reset();
  process.life.reset();
}

void SimWorld::Crash(const std::string& name) {
  if (!IsRunning(name)) return;
  Trace(name, "CRASH");
  Destroy(*processes_.at(name));
}

void SimWorld::Restart(const std::string& name) {
  if (IsRunning(name)) return;
  Process& process = *processes_.at(name);
  Destroy(process);
  Start(process);
}

bool SimWorld::IsRunning(const std::string& name) const {
  const auto found = processes_.find(name);
  return found != processes_.end() && found->second->life != nullptr && found->second->life->running;
}

void SimWorld::CrashByFault(const SimLife& life) {
  Process& process = *processes_.at(life.process);
  process.life->running = false;
  Trace(process.name, "CRASH (fault)");
  const auto unless_restarted = [this, number = life.number, &process](void (SimWorld::*step)(Process&)) {
    return [this, number, &process, step] {
      if (process.lives == number) (this->*step)(process);
    };
  };
  clock_.Schedule(Duration::zero(), unless_restarted(&SimWorld::Destroy));
  const Duration healed = std::max(options_.faults.end - clock_.Now(), Duration::zero());
  clock_.Schedule(std::min(rng_.Between(milliseconds(100), seconds(60)), healed),
                  unless_restarted(&SimWorld::Start));
}

}  // namespace adaptdl
