// A kubeconfig, and what a credential plugin prints: taken with all that belongs together, or refused.
#include "cluster/kube/exec_plugin.h"
#include "cluster/kube/kube_config.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const auto refused = [](const Error& error) {
    Check(error.code == ErrorCode::kInvalid, "only bad input is refused");
    Check(error.message == Printable(error.message, 100000), "messages are safe to print");
  };
  if (const auto config = ParseKubeconfig(AsText(data, size), "/etc")) {
    Check(config->server.starts_with("http"), "there is a server");
    Check(config->server.find_first_of(" \r\n@?#") == std::string::npos, "it can be part of a URL");
    Check(config->client_certificate.empty() == config->client_key.empty(), "a certificate has its key");
    Check(!config->exec || !config->exec->command.empty(), "a plugin has a command");
  } else {
    refused(config.error());
  }
  const std::string version = "client.authentication.k8s.io/v1";
  if (const auto credential = ParseExecCredential(AsText(data, size), version)) {
    const Identity& identity = credential->identity;
    Check(!identity.token.empty() || !identity.certificate.empty(), "credentials are there");
  } else {
    refused(credential.error());
  }
  return 0;
}
