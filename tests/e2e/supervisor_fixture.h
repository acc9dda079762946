// Supervisor and operator as they are deployed: programs, each under its own account, on a real API server
// with played nodes; and training processes with the environment of their pods.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"
#include "runtime/http_testing.h"
#include "tests/e2e/operator_fixture.h"
#include "tests/e2e/supervisor_program.h"
#include "tests/e2e/test_trainer.h"

namespace adaptdl {

// Every test also asks that supervisors end well when they are told to.
class SupervisorTest : public OperatorTest {
 protected:
  // Pods stay without an address until the test gives them one.
  static constexpr const char* kNoAddress = R"("played/stuck": "ContainerCreating")";

  void SetUp() override;
  void TearDown() override;

  // They stop with the test. Tokens are required unless the flags say otherwise. It is ready when this
  // returns.
  SupervisorProgram& StartSupervisor(std::vector<std::string> flags = {});
  // Ends it with a signal and forgets it; its exit code.
  int EndSupervisor(SupervisorProgram& program, int signal);
  // An operator whose replicas find the supervisor there, and have tokens.
  ChildProgram& StartOperatorWith(const std::string& supervisor_url);

  // What operator and supervisor are told as the keys of tokens.
  void WriteKeys(const std::string& text) { keys_ = WriteTestFile("keys", text); }

  // Submits a job and brings its first group into being.
  void Run(const std::string& job, const std::vector<std::string>& nodes);
  // The same where pods have no address yet; they have been made when this returns.
  void RunWithoutAddresses(const std::string& job, const std::vector<std::string>& nodes);
  // What the pod of that rank gets from its node.
  void GiveAddress(const std::string& job, std::size_t rank, const std::string& address);

  // The environments of the replicas of a job, by rank, as kubectl shows their pods.
  std::vector<TestTrainer::Variables> EnvironmentsOf(const std::string& job) const;
  // A training process for each replica, with exactly its environment.
  std::vector<std::unique_ptr<ChildProgram>> StartTrainers(const std::string& job) const;
  // All have ended well, and have got these addresses.
  void ExpectToFind(const std::vector<std::unique_ptr<ChildProgram>>& trainers,
                    const std::vector<std::string>& addresses);
  std::vector<std::string> AddressesOf(const std::string& job) const;

  // The job as kubectl shows it.
  nlohmann::json Shown(const std::string& job) const;
  // The recorded report with another batch size, by which it is known.
  static std::string HintsWith(std::int64_t global_batch_size);
  [[nodiscard]] bool EventuallyReported(const std::string& job, std::int64_t global_batch_size);

  std::string keys_;  // Path.

 private:
  std::vector<std::unique_ptr<SupervisorProgram>> supervisors_;
  std::string ended_;  // What those wrote that are gone.
};

// The token in the URL of a replica; empty: none.
std::string TokenIn(const TestTrainer::Variables& variables);

// One request on a connection of its own; `more` are header lines, each with its end.
TestReply Request(const SupervisorProgram& supervisor, const std::string& method, const std::string& target,
                  const std::string& more = "", const std::string& body = "");

// What a refusal says in its "error"; empty where it is none, or not as it should be.
std::string ErrorIn(const TestReply& reply);

}  // namespace adaptdl
