// A template, the administrator's patches to pods and containers, and his default resources, apart by lines
// of
// "---": whatever they are, a pod is a replica of its job or there is none.
#include <array>
#include <string_view>

#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"
#include "operator/pod_builder.h"
#include "tests/fuzz/check.h"

namespace adaptdl {
namespace {

std::array<std::string_view, 4> Parts(std::string_view text) {
  constexpr std::string_view kLine = "\n---\n";
  std::array<std::string_view, 4> parts;
  for (std::string_view& part : parts) {
    const std::size_t end = text.find(kLine);
    part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + kLine.size());
  }
  return parts;
}

// Copies of copies double a document. That is for the administrator to leave alone; a fuzzer would not.
bool IsBounded(const nlohmann::json& patch) {
  int copies = 0;
  for (const nlohmann::json& operation : patch) copies += operation["op"] == "copy" ? 1 : 0;
  return copies <= 4;
}

void Refused(const Error& error, std::string_view where, std::string_view or_where) {
  Check(error.code == ErrorCode::kInvalid, "only bad input is refused");
  Check(error.message.starts_with(where) || error.message.starts_with(or_where), "messages name the place");
  Check(error.message == Printable(error.message, 100000), "messages are safe to print");
}

void CheckReplica(const Document& document, const Job& job) {
  const Result<Pod> pod = FromJson<Pod>(document.value());
  Check(pod.has_value(), "what is built is a pod");
  Check(pod->metadata.name == PodName(job, 5, 1) && pod->metadata.name_space == "n", "it has its name");
  Check(pod->metadata.owner == Owner{"adaptdl.petuum.com/v1", "AdaptDLJob", "j", "u"}, "it has its owner");
  const std::optional<Replica> replica = ReplicaOf(*pod);
  Check(replica && replica->group == 5 && replica->rank == 1 && replica->replicas == 2, "it is a replica");
  for (const auto& [key, value] : {std::pair("adaptdl", "true"), std::pair("adaptdl/job", "j")}) {
    const auto label = pod->metadata.labels.find(key);
    Check(label != pod->metadata.labels.end() && label->second == value, "it is found by its labels");
  }
}

}  // namespace
}  // namespace adaptdl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const auto [pod_template, pod_patch, container_patch, resources] = Parts(AsText(data, size));
  const Result<PodSettings> settings = PodSettings::Parse(resources, pod_patch, container_patch);
  if (!settings) {
    Refused(settings.error(), "job.patch.", "job.defaultResources");
    return 0;
  }
  Result<nlohmann::json> value = ParseJson(pod_template);
  if (!value || !IsBounded(settings->pod_patch()) || !IsBounded(settings->container_patch())) return 0;
  Job job;
  job.metadata = {.name = "j", .name_space = "n", .uid = "u"};
  job.spec.pod_template = PodTemplate(*std::move(value));
  Replica replica;
  replica.group = 5;
  replica.rank = 1;
  replica.replicas = 2;
  replica.node = replica.hostname = "node";
  if (const auto pod = BuildPod(job, replica, *settings)) {
    CheckReplica(*pod, job);
  } else {
    Refused(pod.error(), "spec.template", "job.patch.");
  }
  return 0;
}
