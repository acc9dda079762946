#include "tests/e2e/operator_fixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <utility>

#include "nlohmann/json.hpp"
#include "tests/e2e/eventually.h"
#include "tests/e2e/service_account.h"

namespace adaptdl {

using nlohmann::json;

namespace {

// One cluster for all tests of this program; it ends with it.
struct Shared {
  std::unique_ptr<Testbed> server;
  std::string why_not;
  std::string kubeconfig;  // Of the operator.
};

Shared& TheShared() {
  static Shared shared;
  return shared;
}

void WriteFile(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

void StartServer() {
  if (TheShared().server != nullptr || !TheShared().why_not.empty()) return;
  // Some clusters do not let everybody name an owner that cannot go before them; ours is one of those.
  Result<std::unique_ptr<Testbed>> started =
      Testbed::Start({"--nodes", "6", "--real", "0", "--apiserver-flags",
                      "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"});
  if (!started) {
    TheShared().why_not = started.error().message;
    ASSERT_EQ(started.error().code, ErrorCode::kNotFound) << started.error().message;
    return;
  }
  TheShared().server = *std::move(started);
  TheShared().kubeconfig = MakeServiceAccount(*TheShared().server, "operator");
}

}  // namespace

Testbed& OperatorTest::Server() { return *TheShared().server; }

void OperatorTest::SetUp() {
  StartServer();
  if (TheShared().server == nullptr) GTEST_SKIP() << TheShared().why_not;
  name_space_ = Server().MakeNamespace();
  const Logger log("test", {.level = LogLevel::kError});
  cluster_ =
      ConnectToKubernetes(Server().Connection(), {.requests_per_second = 2000, .burst = 2000}, loop_).value();
  jobs_ = std::make_unique<WatchCache<Job>>(loop_, *cluster_, Query{.name_space = name_space_}, log);
  jobs_->Start();
  replicas_ = std::make_unique<ReplicaWatch>(loop_, *cluster_, name_space_, log);
}

void OperatorTest::TearDown() {
  if (TheShared().server == nullptr) return;
  EXPECT_THAT(replicas_->violations(), testing::IsEmpty());
  if (HasFailure()) std::cerr << Diagnosis();
  while (!operators_.empty()) EXPECT_EQ(EndOperator(*operators_.back(), SIGTERM), 0);
  Server().Kubectl({"delete", "namespace", name_space_, "--wait=false"});
}

std::string OperatorTest::Diagnosis() const {
  std::string text = Server().TryKubectl({"get", "adljobs,pods,events", "-n", name_space_}).output;
  text += Server().TryKubectl({"get", "adljobs", "-o", "yaml", "-n", name_space_}).output + ended_;
  for (const auto& program : operators_) text += "---- operator\n" + program->output();
  return text;
}

ChildProgram& OperatorTest::StartOperator(const std::vector<std::string>& flags) {
  std::vector<std::string> command = {ADAPTDL_OPERATOR,
                                      "--kubeconfig",
                                      TheShared().kubeconfig,
                                      "--address",
                                      "127.0.0.1",
                                      "--metrics.port",
                                      "0"};
  command.insert(command.end(), flags.begin(), flags.end());
  operators_.push_back(std::make_unique<ChildProgram>(command));
  PortOf(*operators_.back());  // By then it has taken over its signals.
  return *operators_.back();
}

std::string OperatorTest::PortOf(ChildProgram& program) {
  const std::string before = "serving metrics and health port=";
  std::string output;
  EXPECT_TRUE(Eventually([&] {
    output = program.output();
    return output.find('\n') != std::string::npos || program.ExitCode();
  }));
  const std::size_t found = output.find(before);
  if (found == std::string::npos) {
    ADD_FAILURE() << "it does not serve: " << output;
    return "";
  }
  const std::size_t begin = found + before.size();
  return output.substr(begin, output.find('\n', begin) - begin);
}

int OperatorTest::EndOperator(ChildProgram& program, int signal) {
  const auto found = std::find_if(operators_.begin(), operators_.end(),
                                  [&](const auto& one) { return one.get() == &program; });
  program.Signal(signal);
  const int code = program.Wait();
  ended_ += "---- operator, ended with " + std::to_string(code) + "\n" + program.output();
  operators_.erase(found);
  return code;
}

std::string OperatorTest::Serves(ChildProgram& program, const std::string& path) {
  return RunProgram({"curl", "-sS", "--fail", "http://127.0.0.1:" + PortOf(program) + path}).output;
}

std::string OperatorTest::Kubectl(std::vector<std::string> arguments) const {
  arguments.insert(arguments.end(), {"--namespace", name_space_});
  return Server().Kubectl(arguments);
}

std::string OperatorTest::JobManifest(const std::string& name, const JobText& text) const {
  return R"({"apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob", "metadata": {"name": ")" + name +
         R"(", "namespace": ")" + name_space_ + R"("}, "spec": {)" + text.spec +
         (text.spec.empty() ? "" : ", ") + R"("template": {"metadata": {"annotations": {)" +
         text.annotations + R"(}}, "spec": {"containers": [{"name": "main", "image": "any"}]}}}})";
}

void OperatorTest::Submit(const std::string& name, const JobText& text) const {
  const std::string file = Server().folder() + "/job.json";
  WriteFile(file, JobManifest(name, text));
  Kubectl({"apply", "-f", file});
}

void OperatorTest::Allocate(const std::string& name, const std::vector<std::string>& nodes) {
  Change({.ref = {Kind::kJob, {name_space_, name}},
          .merge = Document(json{{"status", {{"allocation", nodes}}}})});
}

void OperatorTest::EndReplica(const Pod& pod, int exit_code) {
  const json state = {
      {"terminated", {{"exitCode", exit_code}, {"reason", exit_code == 0 ? "Completed" : "Error"}}}};
  const json container = {{"name", "main"},    {"image", "any"}, {"imageID", ""},
                          {"restartCount", 0}, {"ready", false}, {"state", state}};
  Change({.ref = {Kind::kPod, KeyOf(pod.metadata)},
          .merge = Document(json{
              {"status",
               {{"phase", exit_code == 0 ? "Succeeded" : "Failed"}, {"containerStatuses", {container}}}}})});
}

void OperatorTest::Change(const Patch& patch) {
  cluster_->Apply(patch, [this, patch](const Result<Object>& result) {
    if (result || result.error().code == ErrorCode::kNotFound) return;
    if (result.error().retryable || result.error().code == ErrorCode::kConflict) return Change(patch);
    ADD_FAILURE() << result.error().message;
  });
}

bool OperatorTest::Eventually(const std::function<bool()>& holds) {
  return adaptdl::Eventually(loop_, holds);
}

bool OperatorTest::EventuallyIn(const std::string& name, JobPhase phase, std::int64_t group) {
  return Eventually([&] {
    const JobStatus status = StatusOf(name);
    if (status.phase != phase || status.group.value_or(-1) != group) return false;
    return phase != JobPhase::kRunning || AllRun(name, status);
  });
}

// Pods are watched apart from jobs, and may come into view a little later.
bool OperatorTest::AllRun(const std::string& name, const JobStatus& status) const {
  const std::vector<Pod> pods = ReplicasOf(name);
  return static_cast<std::int64_t>(pods.size()) == status.replicas &&
         std::all_of(pods.begin(), pods.end(),
                     [](const Pod& pod) { return pod.phase == PodPhase::kRunning; });
}

std::shared_ptr<const Job> OperatorTest::Find(const std::string& name) const {
  return jobs_->Find({name_space_, name});
}

JobStatus OperatorTest::StatusOf(const std::string& name) const {
  const auto job = Find(name);
  return job == nullptr ? JobStatus{} : job->status;
}

std::vector<Pod> OperatorTest::ReplicasOf(const std::string& name) const {
  const auto job = Find(name);
  return job == nullptr ? std::vector<Pod>{} : replicas_->Of(*job);
}

std::string OperatorTest::ReasonOf(const std::string& name) const {
  const JobStatus status = StatusOf(name);
  const Condition* running = FindCondition(status.conditions, "Running");
  return running == nullptr ? "" : running->reason;
}

}  // namespace adaptdl
