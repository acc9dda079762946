// The operator as it is deployed: the program, under its own account, on a real API server with played nodes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/pod.h"
#include "cluster/cluster.h"
#include "runtime/event_loop.h"
#include "runtime/log.h"
#include "runtime/watch_cache.h"
#include "tests/e2e/child_program.h"
#include "tests/e2e/replica_watch.h"
#include "tests/e2e/testbed.h"

namespace adaptdl {

// One cluster for all tests of a program; each test has a namespace for its jobs, and its own operators.
// Every test also asks that no job ever has two groups at once, and that operators end well when they are
// told to.
class OperatorTest : public testing::Test {
 protected:
  struct JobText {
    std::string spec = {};         // Members of spec beside its template, as JSON.
    std::string annotations = {};  // Of the template, as JSON: what is played, see played_nodes.py.
  };

  void SetUp() override;
  void TearDown() override;

  static Testbed& Server();

  // Replicas of the operator. They stop with the test. It has begun to serve when this returns.
  ChildProgram& StartOperator(const std::vector<std::string>& flags = {});
  // Ends it with a signal and forgets it; its exit code.
  int EndOperator(ChildProgram& program, int signal);
  // What it serves at that path, or why it does not.
  std::string Serves(ChildProgram& program, const std::string& path);

  // By kubectl, in the namespace of the test.
  std::string Kubectl(std::vector<std::string> arguments) const;
  void Submit(const std::string& name, const JobText& text) const;
  void Submit(const std::string& name) const { Submit(name, {}); }
  std::string JobManifest(const std::string& name, const JobText& text) const;

  // What others would do: the scheduler, and a kubelet whose container has ended.
  void Allocate(const std::string& name, const std::vector<std::string>& nodes);
  void EndReplica(const Pod& pod, int exit_code);
  // Any change to the cluster, by the administrator. Tried again where the server is not there; what is gone
  // need not change.
  void Change(const Patch& patch);

  // The test goes on once it is so. What is asked for changes only in here.
  [[nodiscard]] bool Eventually(const std::function<bool()>& holds);
  // Where it is to run, its replicas are seen to run, too.
  [[nodiscard]] bool EventuallyIn(const std::string& name, JobPhase phase, std::int64_t group);
  // None where there is no such job.
  std::shared_ptr<const Job> Find(const std::string& name) const;
  JobStatus StatusOf(const std::string& name) const;
  std::vector<Pod> ReplicasOf(const std::string& name) const;
  // Of the condition Running.
  std::string ReasonOf(const std::string& name) const;

  EventLoop loop_;
  std::string name_space_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<WatchCache<Job>> jobs_;
  std::unique_ptr<ReplicaWatch> replicas_;

 private:
  bool AllRun(const std::string& name, const JobStatus& status) const;
  std::string PortOf(ChildProgram& program);
  std::string Diagnosis() const;

  std::vector<std::unique_ptr<ChildProgram>> operators_;
  std::string ended_;  // What those wrote that are gone.
};

}  // namespace adaptdl
