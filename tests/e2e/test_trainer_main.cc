// The beginning of a training process: it asks for its peers until it knows them, and the first of them
// reports. It says what it was answered, and dies of what the published client dies of.
#include <iostream>

#include "runtime/environment.h"
#include "tests/e2e/test_trainer.h"

namespace adaptdl {
namespace {

TestTrainer::Answer Print(const char* what, TestTrainer::Answer answer) {
  std::cout << what << " " << answer.status << " " << answer.body << std::endl;
  return answer;
}

int Main() {
  const Environment environment = ProcessEnvironment();
  TestTrainer::Variables variables;
  for (const char* name :
       {"ADAPTDL_JOB_ID", "ADAPTDL_NUM_RESTARTS", "ADAPTDL_REPLICA_RANK", "ADAPTDL_SUPERVISOR_URL"}) {
    variables[name] = environment(name).value_or("");
  }
  const TestTrainer trainer(variables);
  int status = 408;
  while (status == 408) status = Print("discover", trainer.Discover()).status;
  if (status != 200) return 1;
  // What becomes of a report does not matter to it.
  if (trainer.is_first()) Print("hints", trainer.PutHints(TestTrainer::RecordedHints()));
  return 0;
}

}  // namespace
}  // namespace adaptdl

int main() { return adaptdl::Main(); }
