// Nodes that are played: a scheduler that binds pods to them, a kubelet for each, and the collector of pods
// whose node is gone. Annotations of a pod decide its course, as on the played nodes of the test bed:
//   played/run: SECONDS    it ends by itself after that long (absent: it runs for ever),
//   played/exit: CODE      with this exit code (default 0)
//   played/term: CODE      its exit code when it is told to stop (default 143),
//   played/grace: SECONDS  and how long that takes it (default 0); it is killed when its grace is over
//   played/start: SECONDS  how long its containers take to start (default: less than a second)
//   played/evict: SECONDS  after that long its node evicts it: Failed, reason Evicted
//   played/stuck: REASON   it never starts: Pending, waiting for that reason
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/metadata.h"
#include "api/pod.h"
#include "cluster/sim/sim_world.h"
#include "nlohmann/json_fwd.hpp"

namespace adaptdl {

class SimNodes {
 public:
  // `world` outlives it. Loses nodes as the world's plan says.
  explicit SimNodes(SimWorld& world);
  ~SimNodes();
  SimNodes(const SimNodes&) = delete;
  SimNodes& operator=(const SimNodes&) = delete;

  // A ready node with these resources (as quantities), besides plenty of cpu and memory. Nodes that somebody
  // else creates are played as well.
  void Add(const std::string& name, const Labels& resources = {{"nvidia.com/gpu", "4"}}, Labels labels = {});
  // Its Node object goes at once, nothing plays its pods any more, and they are collected after a while. The
  // same happens where somebody else deletes it.
  void Vanish(const std::string& name);
  // A new node of that name, with what was added under it.
  void Return(const std::string& name);

  std::vector<std::string> Present() const;

 private:
  struct Course;
  using Step = std::function<void()>;

  void OnChange(const Change& change);
  void OnPod(const Key& key, const Pod& pod);
  void LoseSomeNode();
  void CollectLost(Course& course);

  void ScheduleBinding();
  void BindWaiting();

  void Begin(const Pod& pod, Course& course);
  void Run(const Pod& pod);
  void End(const Pod& pod, int code);
  void Evict(const Pod& pod);
  void Stop(const Pod& pod, Course& course);
  void ForceDelete(const Course& course, std::string_view who);
  void WriteStatus(const Pod& pod, std::string_view what, nlohmann::json status);

  // Does `step` after `delay`, or once the API server is back, unless the timer is gone by then.
  Timer Later(Duration delay, Step step);
  void Wait(Duration delay, const std::weak_ptr<Step>& step);

  SimWorld& world_;
  std::map<std::string, Document> added_;  // Nodes to create, by name.
  std::map<std::string, Course> courses_;  // What is done with each pod, by its uid.
  std::set<Key> unbound_;
  Timer binding_;
  std::vector<Timer> faults_;
  std::map<std::string, Timer> returns_;
  int addresses_ = 0;
  std::shared_ptr<void> listening_;
};

}  // namespace adaptdl
