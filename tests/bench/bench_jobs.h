// Jobs and their pods on a cluster, made as the operator would make them; nobody runs them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "runtime/event_loop.h"

namespace adaptdl {

struct BenchJob {
  std::string name;
  std::string uid;
};

class BenchJobs {
 public:
  static constexpr const char* kNamespace = "bench";

  BenchJobs();  // On the cluster of $KUBECONFIG.

  // Whether `holds` came to hold within that time; the cluster's answers come meanwhile.
  bool Await(const std::function<bool()>& holds, std::chrono::seconds limit);

  // NAME-0, NAME-1, ...; those that are there already stay.
  std::vector<BenchJob> Create(const std::string& name, std::size_t count);
  // Their pods of group 0. All have an address but the one of the last rank.
  void CreatePods(const std::vector<BenchJob>& jobs, std::size_t replicas);
  // The last one gets its address; `answered` says for which job the server has taken it. As fast as it
  // takes them. The addresses are those of AddressOf.
  void CompletePods(const std::vector<BenchJob>& jobs, std::size_t replicas,
                    const std::function<void(std::size_t job)>& answered);
  void StoreHints(const std::vector<BenchJob>& jobs, const std::string& hints);

  static std::string AddressOf(std::size_t job, std::size_t rank);

 private:
  using Call = std::function<void(std::size_t, Done<Object>)>;

  void ForAll(std::size_t count, const Call& call,
              const std::function<void(std::size_t, const Result<Object>&)>& answered);
  void SetAddress(const BenchJob& job, std::size_t number, std::size_t rank, Done<Object> done);

  EventLoop loop_;
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace adaptdl
