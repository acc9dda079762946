#include "tests/e2e/service_account.h"

#include <fstream>

#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

std::string MakeServiceAccount(const Testbed& server, const std::string& program) {
  const std::string name_space = "adaptdl";  // Where the manifests put the accounts.
  const std::string account = "adaptdl-" + program;
  server.TryKubectl({"create", "namespace", name_space});  // Another account may have brought it.
  server.Kubectl({"apply", "-f", ADAPTDL_SOURCE_DIR "/charts/adaptdl-sched/files/" + program + "-rbac.yaml"});
  std::string token = server.Do({"token", account, name_space});
  while (!token.empty() && token.back() == '\n') token.pop_back();
  const KubeConnection connection = server.Connection();
  const json config = {
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", program},
      {"contexts",
       {{{"name", program},
         {"context", {{"cluster", "testbed"}, {"user", account}, {"namespace", name_space}}}}}},
      {"clusters",
       {{{"name", "testbed"},
         {"cluster",
          {{"server", connection.server},
           {"certificate-authority", connection.certificate_authority.path}}}}}},
      {"users", {{{"name", account}, {"user", {{"token", token}}}}}}};
  std::string path = server.folder() + "/" + program + ".conf";
  std::ofstream(path) << config.dump();
  return path;
}

}  // namespace adaptdl
