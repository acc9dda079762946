// What `kubectl apply` says to a job that cannot be, where the API server asks the operator.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "nlohmann/json.hpp"
#include "tests/e2e/operator_fixture.h"

namespace adaptdl {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Nobody has it just now.
std::string FreePort() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): that is how sockets want it.
  EXPECT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  close(socket);
  return std::to_string(ntohs(address.sin_port));
}

class OperatorWebhook : public OperatorTest {
 protected:
  void SetUp() override {
    OperatorTest::SetUp();
    if (IsSkipped()) return;
    const std::string port = FreePort();
    const std::string folder = Server().folder();
    // The API server's own certificate is for this address, too.
    ChildProgram& program = StartOperator({"--webhook.port", port, "--webhook.certificate",
                                           folder + "/server.crt", "--webhook.key", folder + "/server.key"});
    ASSERT_TRUE(Eventually([&] { return program.output().find("serving admission") != std::string::npos; }));
    Server().Kubectl({"label", "namespace", name_space_, "webhook=" + name_space_});
    Install(port);
  }
  void TearDown() override {
    if (!IsSkipped()) Server().Kubectl({"delete", "validatingwebhookconfiguration", name_space_});
    OperatorTest::TearDown();
  }

  void Install(const std::string& port) const {
    const json rule = {{"apiGroups", {"adaptdl.petuum.com"}},
                       {"apiVersions", {"v1"}},
                       {"operations", {"CREATE", "UPDATE"}},
                       {"resources", {"adaptdljobs"}}};
    const std::string bundle = RunProgram({"base64", "-w0", Server().folder() + "/ca.crt"}).output;
    const json webhook = {
        {"name", "jobs.adaptdl.petuum.com"},
        {"admissionReviewVersions", {"v1"}},
        {"sideEffects", "None"},
        {"failurePolicy", "Fail"},
        {"namespaceSelector", {{"matchLabels", {{"webhook", name_space_}}}}},
        {"rules", {rule}},
        {"clientConfig", {{"url", "https://127.0.0.1:" + port + "/validate"}, {"caBundle", bundle}}}};
    Apply({{"apiVersion", "admissionregistration.k8s.io/v1"},
           {"kind", "ValidatingWebhookConfiguration"},
           {"metadata", {{"name", name_space_}}},
           {"webhooks", {webhook}}});
  }

  Ended Apply(const json& object) const {
    const std::string file = Server().folder() + "/object.json";
    std::ofstream(file) << object;
    return Server().TryKubectl({"apply", "-f", file});
  }
};

TEST_F(OperatorWebhook, RefusesWhatCouldNotRun) {
  const json good = json::parse(JobManifest("train", {}));
  // The API server takes up its configuration a moment later; the first job shows that it has.
  json wrong_size = good;
  wrong_size["spec"]["minReplicas"] = 3;
  wrong_size["spec"]["maxReplicas"] = 2;
  ASSERT_TRUE(Eventually([&] {
    const Ended ended = Apply(wrong_size);
    if (ended.code == 0) Kubectl({"delete", "adljob", "train"});
    return ended.code != 0 && ended.output.find("maxReplicas") != std::string::npos;
  }));

  json wrong_template = good;
  wrong_template["spec"]["template"]["spec"]["containers"][0]["image"] = nullptr;
  wrong_template["spec"]["template"]["spec"]["containers"][0]["name"] = "Main";
  const Ended refused = Apply(wrong_template);
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.output, HasSubstr("jobs.adaptdl.petuum.com"));
  EXPECT_THAT(refused.output, HasSubstr("containers[0].name"));

  const Ended taken = Apply(good);
  EXPECT_EQ(taken.code, 0) << taken.output;
  const auto patch = [&](const char* change) {
    return Server().TryKubectl(
        {"patch", "adljob", "train", "--namespace", name_space_, "--type=merge", "-p", change});
  };
  const Ended changed = patch(R"({"spec": {"preemptible": false}})");
  EXPECT_NE(changed.code, 0);
  EXPECT_THAT(changed.output, HasSubstr("spec.preemptible"));
  for (const char* allowed :
       {R"({"spec": {"suspend": true}})", R"({"metadata": {"labels": {"team": "a"}}})"}) {
    EXPECT_EQ(patch(allowed).code, 0) << allowed;
  }
}

}  // namespace
}  // namespace adaptdl
