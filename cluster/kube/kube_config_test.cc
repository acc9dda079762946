#include "cluster/kube/kube_config.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

// A config whose one cluster and user hold these lines of YAML, in flow style.
std::string Config(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
         "contexts: [{name: other, context: {}}, {name: here, context: {cluster: c, user: u, namespace: "
         "ns}}]\n"
         "clusters: [{name: c, cluster: {" +
         cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n";
}

constexpr const char* kServer = "server: 'https://host:6443'";

TEST(KubeConfig, ReadsTheCurrentContext) {
  const auto read = ParseKubeconfig(
      Config(
          "server: 'https://host:6443/path/', certificate-authority: ca.crt, tls-server-name: api, odd: [1]",
          "client-certificate: /abs.crt, client-key-data: S0VZ, tokenFile: sub/token, token: unused"),
      "/etc/kube");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, (KubeConnection{.server = "https://host:6443/path",
                                   .name_space = "ns",
                                   .certificate_authority = {.path = "/etc/kube/ca.crt"},
                                   .tls_server_name = "api",
                                   .client_certificate = {.path = "/abs.crt"},
                                   .client_key = {.text = "KEY"},
                                   .token = {.path = "/etc/kube/sub/token"}}));
}

TEST(KubeConfig, JsonIsYaml) {
  const auto read =
      ParseKubeconfig(R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],
      "clusters":[{"name":"c","cluster":{"server":"http://[::1]:8080","insecure-skip-tls-verify":true}}]})",
                      "");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->server, "http://[::1]:8080");
  EXPECT_EQ(read->name_space, "default");
  EXPECT_TRUE(read->insecure_skip_tls_verify);
}

TEST(KubeConfig, Plugin) {
  const auto read = ParseKubeconfig(
      Config(kServer,
             "exec: {command: ./bin/get-token, args: [--region, x], env: [{name: A, value: b=c}], "
             "apiVersion: client.authentication.k8s.io/v1beta1, provideClusterInfo: true, installHint: x}"),
      "/etc/kube");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->exec);
  EXPECT_EQ(read->exec->command, "/etc/kube/./bin/get-token");
  EXPECT_THAT(read->exec->args, ElementsAre("--region", "x"));
  EXPECT_THAT(read->exec->env, ElementsAre(Pair("A", "b=c")));
}

TEST(KubeConfig, RefusesByNameAndWithoutSecrets) {
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {Config(kServer, "username: me, password: SECRET"), "users[0].user.username: not supported"},
      {Config(kServer, "as: SECRET"), "users[0].user.as: not supported"},
      {Config(kServer, "auth-provider: {name: gcp}"), "auth-provider: not supported"},
      {Config(kServer, "client-key-data: 'SECRET!'"), "client-key-data: not base64"},
      {Config(kServer, "client-key-data: SECRETxx="), "client-key-data: not base64"},
      {Config(kServer, "client-key-data: SECRET=="), "must be given together"},
      {Config(kServer, "token: [SECRET]"), "user.token: expected text"},
      {Config(kServer, "token: SECRET, exec: {command: x}"), "given together with other credentials"},
      {Config(kServer, "exec: {apiVersion: client.authentication.k8s.io/v1}"), "exec.command: missing"},
      {Config(kServer, "exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}"),
       "exec.apiVersion"},
      {Config(kServer, "token: \"SECRET"), "not YAML"},
      {Config("server: 'https://a', proxy-url: http://SECRET@x", ""), "proxy-url: proxies are not supported"},
      {Config("server: 'https://me:SECRET@host'", ""), "server: must be only"},
      {Config("server: host", ""), "server: must begin with https://"},
      {Config("server: 'https://'", ""), "server: without a host"},
      {Config("", ""), "clusters[0].cluster.server: must begin"},
      {Config("server: 'https://a', insecure-skip-tls-verify: perhaps", ""), "expected true or false"},
      {Config("server: 'https://a', insecure-skip-tls-verify: true, certificate-authority: x", ""),
       "together"},
      {"current-context: x\ncontexts: []", "contexts: nothing is called 'x'"},
      {"current-context: x\ncontexts: [{name: x}, {name: x}]", "the name x is given twice"},
      {"current-context: x\ncontexts: {}", "contexts: expected a list"},
      {"current-context: x\ncontexts: [3]", "contexts[0]: expected a map"},
      {"", "current-context: missing"},
      {"[]", "expected a map"},
      {"a: \xff", "not UTF-8"},
  };
  for (const auto& [text, message] : cases) {
    const auto read = ParseKubeconfig(text, "");
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(message)) << text;
    EXPECT_THAT(read.error().message, Not(HasSubstr("SECRET"))) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
  }
}

class KubeConfigSearch : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  Result<KubeConnection> Find() {
    return FindConnection(
        [this](const std::string& name) -> std::optional<std::string> {
          const auto found = variables_.find(name);
          if (found == variables_.end()) return std::nullopt;
          return found->second;
        },
        root_);
  }

  std::map<std::string, std::string> variables_;
  const std::string root_ = testing::TempDir() + "kube_config_" + std::to_string(getpid());
};

TEST_F(KubeConfigSearch, InOrder) {
  EXPECT_EQ(Find().error().code, ErrorCode::kNotFound);

  variables_ = {{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}, {"HOME", "/me"}};
  EXPECT_THAT(Find().error().message, HasSubstr("serviceaccount/namespace: cannot be opened"));
  const std::string account = "/var/run/secrets/kubernetes.io/serviceaccount/";
  Write(account + "namespace", "jobs");
  const auto pod = Find();
  ASSERT_TRUE(pod);
  EXPECT_EQ(*pod, (KubeConnection{.server = "https://[fd00::1]:443",
                                  .name_space = "jobs",
                                  .certificate_authority = {.path = root_ + account + "ca.crt"},
                                  .token = {.path = root_ + account + "token"}}));

  Write("/me/.kube/config", Config("server: 'https://home'", ""));
  EXPECT_EQ(Find()->server, "https://home");
  Write("/me/.kube/config", "current-context: [");
  EXPECT_THAT(Find().error().message, HasSubstr("/me/.kube/config: line 1: not YAML"));

  Write("/own", Config("server: 'https://own'", ""));
  variables_["KUBECONFIG"] = root_ + "/own";
  EXPECT_EQ(Find()->server, "https://own");
  variables_["KUBECONFIG"] = root_ + "/own:" + root_ + "/me/.kube/config";
  EXPECT_THAT(Find().error().message, HasSubstr("KUBECONFIG: a list"));
  variables_["KUBECONFIG"] = root_ + "/missing";
  EXPECT_EQ(Find().error().code, ErrorCode::kNotFound);
  variables_["KUBECONFIG"] = root_;
  EXPECT_FALSE(Find());
}

}  // namespace
}  // namespace adaptdl
