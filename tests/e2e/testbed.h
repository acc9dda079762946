// A real Kubernetes for a test: the one that ctest's fixture keeps, or one of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/kube/kube_cluster.h"
#include "runtime/event_loop.h"
#include "runtime/result.h"
#include "tests/e2e/child_program.h"

namespace adaptdl {

class Testbed {
 public:
  // The cluster of the fixture, with nodes that are played. kNotFound, with a word, where there is none.
  static Result<std::unique_ptr<Testbed>> Shared();
  // One for this object alone, gone with it, with these options of `cluster up`. kNotFound, with a word,
  // where Kubernetes has not been built.
  static Result<std::unique_ptr<Testbed>> Start(const std::vector<std::string>& options = {"--only-api"});

  ~Testbed();
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;

  // A verb of tests/testbed/cluster on this cluster, e.g. {"stop", "etcd"}; its output. A failure is a test's
  // failure.
  std::string Do(const std::vector<std::string>& verb) const;
  std::string Kubectl(const std::vector<std::string>& arguments) const;
  // The same for what may fail.
  Ended TryKubectl(const std::vector<std::string>& arguments) const;

  // How `user`, for whom there is a kubeconfig, reaches it.
  KubeConnection Connection(const std::string& user = "admin") const;
  // Of the certificates and kubeconfigs.
  const std::string& folder() const { return folder_; }
  // The port of the API server, on `address`.
  std::string address() const;
  std::uint16_t port() const;

  // A namespace that nobody else uses.
  std::string MakeNamespace() const;

 private:
  Testbed(std::string folder, bool own) : folder_(std::move(folder)), own_(own) {}

  std::string folder_;
  bool own_;
};

}  // namespace adaptdl
