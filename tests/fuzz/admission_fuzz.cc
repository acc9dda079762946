// Bodies sent to the admission webhook: each is answered once, in good form, and nothing is allowed that is
// no review, or that is a new job which could not run.
#include <memory>
#include <string>

#include "api/json.h"
#include "cluster/sim/sim_world.h"
#include "nlohmann/json.hpp"
#include "operator/admission.h"
#include "tests/fuzz/check.h"

namespace adaptdl {
namespace {

using nlohmann::json;

// What was asked, by another reader than the webhook's own.
json RequestIn(std::string_view body) {
  const json review = json::parse(body.begin(), body.end(), nullptr, /*allow_exceptions=*/false);
  if (!review.is_object() || review.value("apiVersion", json()) != "admission.k8s.io/v1" ||
      review.value("kind", json()) != "AdmissionReview") {
    return {};
  }
  return review.value("request", json());
}

json At(const json& value, const char* place) {
  const json::json_pointer pointer(place);
  return value.contains(pointer) ? value.at(pointer) : json();
}

void CheckAllowed(const json& request) {
  const bool is_job =
      At(request, "/kind/group") == "adaptdl.petuum.com" && At(request, "/kind/kind") == "AdaptDLJob";
  const std::string sub_resource = At(request, "/subResource").dump();
  if (!is_job || (sub_resource != "null" && sub_resource != "\"\"")) return;
  if (At(request, "/operation") == "CREATE") {
    Check(!At(request, "/object/spec/template/spec/containers").empty(), "a new job has containers");
    const json min = At(request, "/object/spec/minReplicas");
    const json max = At(request, "/object/spec/maxReplicas");
    Check(min.is_null() || max.is_null() || min <= max, "there is room between min and max");
  } else if (At(request, "/operation") == "UPDATE") {
    const std::string before = At(request, "/oldObject/spec/template").dump();
    const std::string after = At(request, "/object/spec/template").dump();
    // With a null, which is as good as nothing, two may differ and yet be the same.
    const bool has_null = (before + after).find("null") != std::string::npos;
    Check(has_null || json::parse(before) == json::parse(after), "a template does not change");
  }
}

void CheckAnswer(std::string_view body, const HttpResponse& answer) {
  if (answer.status == 400) {
    Check(answer.body.find('\n') == answer.body.size() - 1, "a refusal is a line");
    Check(Printable(answer.body.substr(0, answer.body.size() - 1), answer.body.size()) + "\n" == answer.body,
          "a refusal is safe to print");
    return;
  }
  Check(answer.status == 200 && answer.content_type == "application/json", "a review is answered by one");
  const Result<json> review = ParseJson(answer.body);
  Check(review.has_value() && (*review)["apiVersion"] == "admission.k8s.io/v1" &&
            (*review)["kind"] == "AdmissionReview",
        "the answer is a review");
  const json& response = (*review)["response"];
  const json request = RequestIn(body);
  Check(request.is_object() && request.value("uid", json()).is_string(), "what is answered was a request");
  Check(response["uid"] == request["uid"], "the answer is to the request");
  Check(response.value("warnings", json::array()).size() <= 21, "there are few warnings");
  if (response["allowed"].get<bool>()) return CheckAllowed(request);
  const std::string message = response["status"]["message"];
  Check(response["status"]["code"] == 422 && !message.empty(), "a refusal has a reason");
  Check(Printable(message, message.size()) == message, "a reason is safe to print");
}

}  // namespace
}  // namespace adaptdl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  SimWorld world({.keep_trace = false});
  const Logger log("fuzz", {.sink = [](std::string_view) {}});
  int answers = 0;
  HttpResponse answer;
  AdmissionHandler(world.clock(), world.admin(), log)(
      {.method = "POST", .path = "/validate", .body = std::string(AsText(data, size))},
      Responder([&](HttpResponse response) {
        ++answers;
        answer = std::move(response);
      }));
  world.clock().RunFor(std::chrono::minutes(1));
  Check(answers == 1, "there is one answer");
  CheckAnswer(AsText(data, size), answer);
  return 0;
}
