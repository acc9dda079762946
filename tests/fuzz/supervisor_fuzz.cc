// Requests of replicas: method, target and body, a line each but for the body. Each is answered once, in JSON
// and with a status that is known; what is wrong is refused by its name; and whatever is sent, hints that are
// stored are valid and nothing else of a job changes.
#include <memory>
#include <set>
#include <string>

#include "api/json.h"
#include "cluster/sim/sim_testing.h"
#include "cluster/sim/sim_world.h"
#include "nlohmann/json.hpp"
#include "supervisor/rest/rest.h"
#include "tests/fuzz/check.h"

namespace adaptdl {
namespace {

using std::chrono::seconds;

// One for all inputs: to make it takes longer than to serve one.
class World {
 public:
  World() {
    Check(world_.server().Create(Kind::kJob, testing::JobNamed("a"), world_.clock().Wall()).has_value(),
          "there is a job");
    SupervisorOptions options;
    options.auth = AuthMode::kOptional;
    options.keys = TokenKeys::Parse(std::string(32, 'k')).value();
    options.client_burst = options.job_burst = 1e9;
    supervisor_ = std::make_unique<Supervisor>(world_.clock(), world_.admin(), options,
                                               Logger("fuzz", {.level = LogLevel::kError}));
    handler_ = RestHandler(world_.clock(), *supervisor_);
    world_.clock().RunFor(seconds(1));
    before_ = Read();
  }

  HttpResponse Serve(HttpRequest request) {
    int answers = 0;
    HttpResponse answer;
    handler_(std::move(request), Responder([&](HttpResponse response) {
               ++answers;
               answer = std::move(response);
             }));
    for (int i = 0; i < 400 && answers == 0; ++i) world_.clock().RunFor(seconds(1));
    world_.clock().RunFor(seconds(1));
    Check(answers == 1, "each request is answered once");
    return answer;
  }

  void CheckJob() {
    Job job = Read();
    job.status.train.reset();
    Check(job.status == before_.status && job.spec == before_.spec, "only the hints of a job change");
  }

 private:
  Job Read() { return std::get<Job>(world_.server().Get(testing::JobRef("a")).value()->object); }

  SimWorld world_{{.keep_trace = false}};
  std::unique_ptr<Supervisor> supervisor_;
  HttpHandler handler_;
  Job before_;
};

std::string_view Line(std::string_view* rest) {
  const std::string_view line = rest->substr(0, rest->find('\n'));
  rest->remove_prefix(std::min(line.size() + 1, rest->size()));
  return line;
}

void CheckAnswer(const HttpResponse& answer) {
  const std::set<int> known = {200, 400, 401, 403, 404, 405, 408, 409, 429};
  Check(known.contains(answer.status), "the status is one of those that are promised");
  if (answer.body == "ok\n") return;
  Check(answer.content_type == "application/json", "it is JSON");
  const Result<nlohmann::json> body = ParseJson(answer.body);
  Check(body.has_value(), "it is good JSON");
  if (answer.status == 200) return;
  Check(body->contains("error") && (*body)["error"].is_string(), "it says what is wrong");
  const auto message = (*body)["error"].get<std::string>();
  Check(!message.empty() && Printable(message, 100000) == message, "and that is safe to print");
}

}  // namespace
}  // namespace adaptdl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  static World world;
  std::string_view rest = AsText(data, size);
  HttpRequest request;
  request.method = Line(&rest);
  const Result<HttpTarget> target = ParseTarget(Line(&rest));
  if (!target) return 0;
  request.path = target->path;
  request.query = target->query;
  request.body = rest;
  request.peer = "127.0.0.1";
  CheckAnswer(world.Serve(std::move(request)));
  world.CheckJob();
  return 0;
}
