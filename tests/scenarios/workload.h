// Everybody else in the cluster of a scenario: users with jobs of every kind, who change their minds; a
// scheduler that gives jobs nodes, and others, and takes them away; the supervisor, with what jobs report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/pod.h"
#include "cluster/clock.h"
#include "cluster/sim/sim_nodes.h"
#include "cluster/sim/sim_random.h"
#include "cluster/sim/sim_world.h"
#include "nlohmann/json_fwd.hpp"

namespace adaptdl {

bool HasEnded(const Job& job);

// Whether a job of these users goes on from group to group for ever, as its replicas are taken from it again
// and again.
bool IsRestless(const Job& job);

class Workload {
 public:
  // World and nodes outlive it. From `calm` on users leave everything as it is, and the scheduler only gives
  // nodes to jobs that want some.
  Workload(SimWorld& world, const SimNodes& nodes, std::uint64_t seed, Instant calm);
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

 private:
  bool Calm() const;
  bool OneOf(std::uint64_t count) { return random_.Below(count) == 0; }
  std::string Seconds(std::uint64_t least, std::uint64_t most);

  void NextWish();
  void Wish();
  void CreateJob(const std::string& name);
  nlohmann::json DrawJob(const std::string& name);
  nlohmann::json DrawCourse(nlohmann::json& spec);
  void DeleteJob(const std::string& name, bool and_anew);
  void ChangeSpec(const Job& job);
  void TakePod();
  void DeletePod(const Pod& pod, bool at_once);

  void NextRound();
  void Round();
  void Reconsider(const Job& job);
  void Allocate(const Job& job, std::vector<std::string> nodes);
  std::vector<std::string> DrawNodes();
  bool WaitsForNodes(const Job& job) const;

  void NextReport();

  void Write(const Job& job, bool status, nlohmann::json merge, const std::string& resource_version = "");

  SimWorld& world_;
  const SimNodes& nodes_;
  SimRandom random_;
  const Instant calm_;
  Timer wish_;
  Timer round_;
  Timer report_;
};

}  // namespace adaptdl
