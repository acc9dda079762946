// What docs/supervisor.md promises to replicas, as tests that run on every cluster: the supervisor and its
// REST adapter, without sockets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/http.h"
#include "runtime/metrics.h"
#include "supervisor/supervisor.h"
#include "tests/conformance/conformance.h"

namespace adaptdl {

class SupervisorTable : public Conformance {
 protected:
  // A request under way.
  struct Exchange {
    std::optional<HttpResponse> answer;
    std::function<void()> gone;  // What happens when the client leaves.
  };
  using ExchangePtr = std::shared_ptr<Exchange>;

  void SetUp() override;
  void TearDown() override;

  // One that has filled its caches.
  void StartSupervisor(AuthMode auth = AuthMode::kRequired);
  // As kill -9: whoever waits loses his connection.
  void LoseSupervisor();
  Supervisor& supervisor() { return *supervisor_; }

  ExchangePtr Send(const std::string& method, const std::string& target, const std::string& body = "",
                   const HttpHeaders& headers = {});
  // The same, until it is answered.
  HttpResponse Ask(const std::string& method, const std::string& target, const std::string& body = "");
  // By a replica of that job and group, as the published client does it.
  ExchangePtr Discover(const std::string& job, std::int64_t group, const std::string& timeout = "");
  HttpResponse Report(const std::string& job, std::int64_t group, const std::string& hints);
  std::string TokenPath(const std::string& job, std::int64_t group) const;

  // A job that has got so far; its uid.
  std::string MakeJob(const std::string& name, std::int64_t group);
  void SetStatus(const std::string& job, const std::string& status);
  void MakePod(const std::string& job, std::int64_t group, int rank, int replicas,
               const std::string& address = "", const std::string& suffix = "");
  void SetAddress(const std::string& job, std::int64_t group, int rank, const std::string& address);
  void RemovePod(const std::string& job, std::int64_t group, int rank, const std::string& suffix = "");
  Job Read(const std::string& job);
  // Until the supervisor has seen everything that has happened so far.
  void CatchUp();

  Metrics metrics_;

 private:
  std::string PodName(const std::string& job, std::int64_t group, int rank) const;

  std::unique_ptr<Supervisor> supervisor_;
  HttpHandler handler_;
  std::map<std::string, std::string> uids_;
  int marks_ = 0;
};

}  // namespace adaptdl
