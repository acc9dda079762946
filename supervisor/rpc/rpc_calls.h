// The calls that a gRPC server has in hand, between gRPC's threads, which bring them, and the clock's, on
// which they are served.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "cluster/clock.h"
#include "supervisor/supervisor.h"

namespace grpc {
class Service;
}

namespace adaptdl {

class RpcCall;

// What the clock's thread knows a call by: null once its last word is said. Only looked at there.
using RpcCallHandle = std::shared_ptr<RpcCall*>;

// On the clock's thread, where nothing else is said.
class RpcCalls {
 public:
  // Both outlive it.
  RpcCalls(Clock& clock, Supervisor& supervisor) : clock_(clock), supervisor_(supervisor) {}
  RpcCalls(const RpcCalls&) = delete;
  RpcCalls& operator=(const RpcCalls&) = delete;

  Clock& clock() { return clock_; }
  Supervisor& supervisor() { return supervisor_; }

  // From any thread. False: nobody will serve it.
  [[nodiscard]] bool Add(const RpcCallHandle& call);
  // From any thread: gRPC has let go of it.
  void Remove(const RpcCallHandle& call);

  // Ends watches, and what comes from now on. False: that was so before.
  bool Stop();
  bool stopping() const { return stopping_; }
  // Ends all that there are.
  void EndAll();
  // The same, and what comes later ends without the clock.
  void Close();
  // Until gRPC has let go of each.
  void WaitUntilNone();

 private:
  // A copy: ending one takes it out of the set.
  std::vector<RpcCallHandle> All();
  static void End(const std::vector<RpcCallHandle>& calls);

  Clock& clock_;
  Supervisor& supervisor_;
  bool stopping_ = false;
  std::mutex mutex_;
  std::condition_variable none_left_;
  std::set<RpcCallHandle> calls_;
  bool closed_ = false;
};

// What takes calls in. `calls` outlives it.
std::unique_ptr<grpc::Service> MakeRpcService(RpcCalls& calls);

}  // namespace adaptdl
