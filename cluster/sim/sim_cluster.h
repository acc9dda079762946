// What one process sees of a simulated cluster: latencies, and the faults of the plan.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "cluster/cluster.h"

namespace adaptdl {

class SimWorld;

// One run of a process, from its start to its end. Shared by all that acts for it.
struct SimLife {
  std::string process;
  int number = 0;       // From 1; 0 is the world's own, which has no faults.
  bool running = true;  // Once false nothing of it runs or is sent any more.
  std::set<Kind> listed;
  // Versions before these are no longer served to it: a stream broke there, and its history is gone.
  std::array<std::uint64_t, std::size(kAllKinds)> lost_before = {};

  bool faulty() const { return number > 0; }
};

class SimCluster final : public Cluster {
 public:
  // `world` outlives it.
  SimCluster(SimWorld& world, std::shared_ptr<SimLife> life);

  void Get(const Ref& ref, Done<Object> done) override;
  void List(const Query& query, std::size_t limit, const std::string& token, Done<Page> done) override;
  [[nodiscard]] std::unique_ptr<Watch> WatchFrom(const Query& query, const std::string& resource_version,
                                                 WatchHandler handler) override;
  void Create(Kind kind, const Document& object, Done<Object> done) override;
  void Apply(const Patch& patch, Done<Object> done) override;
  void Delete(const Deletion& deletion, Done<void> done) override;
  void CheckTemplate(const std::string& name_space, const PodTemplate& pod_template,
                     Done<void> done) override;

 private:
  enum class Fate { kFine, kUnavailable, kTimeoutDone, kTimeoutNotDone, kCrashBefore, kCrashAfter, kCutOff };

  Fate DrawFate(bool write);

  // Sends a call: `at_server` runs when it arrives, also if this cluster is gone by then.
  template <typename T>
  void Send(std::string what, bool write, std::function<Result<T>()> at_server, Done<T> done);

  SimWorld& world_;
  std::shared_ptr<SimLife> life_;
  // Who waits for an answer; what is in flight only knows these weakly.
  std::map<std::uint64_t, std::shared_ptr<void>> waiting_;
  std::uint64_t next_call_ = 0;
};

}  // namespace adaptdl
