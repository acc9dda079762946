// Where a Kubernetes is and how to prove who one is: from a kubeconfig, or from the pod that one runs in.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/environment.h"
#include "runtime/result.h"

namespace adaptdl {

// Given in place, or in a file that is read anew now and then because somebody may renew it.
struct TextOrFile {
  std::string text = {};
  std::string path = {};  // Where there is one it counts, and `text` is empty.

  bool empty() const { return text.empty() && path.empty(); }
  friend bool operator==(const TextOrFile&, const TextOrFile&) = default;
};

// A program that prints credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string command;  // With a '/': a path; otherwise looked for in PATH.
  std::vector<std::string> args = {};
  std::vector<std::pair<std::string, std::string>> env = {};  // Added to the environment of this process.
  std::string api_version = {};

  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};

struct KubeConnection {
  std::string server;                     // "https://10.0.0.1:6443", perhaps with a path; no '/' at its end.
  std::string name_space = "default";     // Of the context or of the pod.
  TextOrFile certificate_authority = {};  // PEM; empty: the system's.
  std::string tls_server_name = {};       // What the server's certificate must name; empty: the host.
  bool insecure_skip_tls_verify = false;
  TextOrFile client_certificate = {};  // PEM, with its key, or neither.
  TextOrFile client_key = {};
  TextOrFile token = {};
  std::optional<ExecPlugin> exec = {};

  friend bool operator==(const KubeConnection&, const KubeConnection&) = default;
};

// The connection of the current context. Relative paths are relative to `folder`. Keys that are not known are
// ignored, as kubectl does; what would change who we are or what we trust and is not supported (password,
// auth-provider, impersonation, proxy-url) is refused by name. No message shows a secret.
Result<KubeConnection> ParseKubeconfig(std::string_view text, const std::string& folder);

// The same from a file.
Result<KubeConnection> LoadKubeconfig(const std::string& path);

// $KUBECONFIG (one file), else $HOME/.kube/config where it exists, else the service account of this pod.
// `root` stands before the paths of the latter two, for tests.
Result<KubeConnection> FindConnection(const Environment& environment, const std::string& root = "");

}  // namespace adaptdl
