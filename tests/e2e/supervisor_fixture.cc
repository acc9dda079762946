#include "tests/e2e/supervisor_fixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "nlohmann/json.hpp"
#include "tests/e2e/service_account.h"

namespace adaptdl {

using nlohmann::json;
using testing::HasSubstr;

namespace {

bool Has(const std::vector<std::string>& flags, const std::string& flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

}  // namespace

void SupervisorTest::SetUp() {
  OperatorTest::SetUp();
  if (!IsSkipped()) WriteKeys("the-first-key-of-all-those-tests-is-this-one\n");
}

void SupervisorTest::TearDown() {
  if (HasFailure()) {
    std::cerr << ended_;
    for (const auto& program : supervisors_) std::cerr << "---- supervisor\n" << program->process().output();
  }
  while (!supervisors_.empty()) EXPECT_EQ(EndSupervisor(*supervisors_.back(), SIGTERM), 0);
  OperatorTest::TearDown();
}

SupervisorProgram& SupervisorTest::StartSupervisor(std::vector<std::string> flags) {
  static const std::string kubeconfig = MakeServiceAccount(Server(), "supervisor");
  if (!Has(flags, "--auth")) flags.insert(flags.end(), {"--auth", "required"});
  if (!Has(flags, "--token-keys")) flags.insert(flags.end(), {"--token-keys", keys_});
  supervisors_.push_back(std::make_unique<SupervisorProgram>(loop_, kubeconfig, std::move(flags)));
  SupervisorProgram& program = *supervisors_.back();
  EXPECT_TRUE(Eventually([&] { return program.IsReady(); }));
  return program;
}

int SupervisorTest::EndSupervisor(SupervisorProgram& program, int signal) {
  const auto found = std::find_if(supervisors_.begin(), supervisors_.end(),
                                  [&](const auto& one) { return one.get() == &program; });
  const int code = program.End(signal);
  ended_ += "---- supervisor, ended with " + std::to_string(code) + "\n" + program.process().output();
  supervisors_.erase(found);
  return code;
}

ChildProgram& SupervisorTest::StartOperatorWith(const std::string& supervisor_url) {
  return StartOperator({"--job.supervisor-url", supervisor_url, "--job.token-keys", keys_});
}

void SupervisorTest::Run(const std::string& job, const std::vector<std::string>& nodes) {
  Submit(job);
  Allocate(job, nodes);
  ASSERT_TRUE(EventuallyIn(job, JobPhase::kRunning, 0));
}

void SupervisorTest::RunWithoutAddresses(const std::string& job, const std::vector<std::string>& nodes) {
  Submit(job, {.annotations = kNoAddress});
  Allocate(job, nodes);
  ASSERT_TRUE(Eventually([&] { return ReplicasOf(job).size() == nodes.size(); }));
}

void SupervisorTest::GiveAddress(const std::string& job, std::size_t rank, const std::string& address) {
  const std::vector<Pod> pods = ReplicasOf(job);
  ASSERT_LT(rank, pods.size());
  Change({.ref = {Kind::kPod, KeyOf(pods[rank].metadata)},
          .merge = Document(json{{"status", {{"podIP", address}, {"podIPs", {{{"ip", address}}}}}}})});
}

std::vector<TestTrainer::Variables> SupervisorTest::EnvironmentsOf(const std::string& job) const {
  const json pods =
      json::parse(Kubectl({"get", "pods", "-l", "adaptdl/job=" + job, "-o", "json"})).at("items");
  std::vector<TestTrainer::Variables> by_rank(pods.size());
  for (const json& pod : pods) {
    const std::string rank = pod.at("metadata").at("annotations").at("adaptdl/rank");
    for (const json& entry : pod.at("spec").at("containers").at(0).at("env")) {
      by_rank.at(std::stoul(rank))[entry.at("name")] = entry.value("value", "");
    }
  }
  return by_rank;
}

std::vector<std::unique_ptr<ChildProgram>> SupervisorTest::StartTrainers(const std::string& job) const {
  std::vector<std::unique_ptr<ChildProgram>> trainers;
  for (const TestTrainer::Variables& variables : EnvironmentsOf(job)) {
    std::vector<std::string> environment;
    environment.reserve(variables.size());
    for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
    trainers.push_back(
        std::make_unique<ChildProgram>(std::vector<std::string>{ADAPTDL_TEST_TRAINER}, environment));
  }
  return trainers;
}

void SupervisorTest::ExpectToFind(const std::vector<std::unique_ptr<ChildProgram>>& trainers,
                                  const std::vector<std::string>& addresses) {
  const std::string found = "discover 200 " + json(addresses).dump() + "\n";
  for (const auto& trainer : trainers) {
    EXPECT_TRUE(Eventually([&] { return trainer->ExitCode().has_value(); })) << trainer->output();
    EXPECT_EQ(trainer->ExitCode(), 0) << trainer->output();
    EXPECT_THAT(trainer->output(), HasSubstr(found));
  }
}

std::vector<std::string> SupervisorTest::AddressesOf(const std::string& job) const {
  std::vector<std::string> addresses;
  for (const Pod& pod : ReplicasOf(job)) addresses.push_back(pod.ip);
  return addresses;
}

json SupervisorTest::Shown(const std::string& job) const {
  return json::parse(Kubectl({"get", "adljob", job, "-o", "json"}));
}

std::string SupervisorTest::HintsWith(std::int64_t global_batch_size) {
  json hints = json::parse(TestTrainer::RecordedHints());
  hints["globalBatchSize"] = global_batch_size;
  return hints.dump();
}

bool SupervisorTest::EventuallyReported(const std::string& job, std::int64_t global_batch_size) {
  return Eventually([&] {
    const std::optional<Hints> hints = StatusOf(job).train;
    return hints && hints->global_batch_size == global_batch_size;
  });
}

std::string TokenIn(const TestTrainer::Variables& variables) {
  const std::string& url = variables.at("ADAPTDL_SUPERVISOR_URL");
  const std::size_t at = url.find("/t/");
  return at == std::string::npos ? "" : url.substr(at + 3);
}

TestReply Request(const SupervisorProgram& supervisor, const std::string& method, const std::string& target,
                  const std::string& more, const std::string& body) {
  TestClient client(supervisor.port());
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: x\r\n" + more;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  client.Send(text + "\r\n" + body);
  return client.Read(method != "HEAD");
}

std::string ErrorIn(const TestReply& reply) {
  if (reply.head.find("Content-Type: application/json\r\n") == std::string::npos) return "";
  const json body = json::parse(reply.body, nullptr, false);
  return body.is_object() && body.size() == 1 ? body.value("error", "") : "";
}

}  // namespace adaptdl
