// Documents, and the Kubernetes objects in them: whatever is taken can be written and is read back as the
// same.
#include "api/event.h"
#include "api/job.h"
#include "api/json.h"
#include "api/lease.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/reader.h"
#include "api/resources.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/check.h"

namespace adaptdl {
namespace {

template <typename T>
void RoundTrip(const nlohmann::json& document) {
  const Result<T> first = FromJson<T>(document);
  if (!first) return Check(!first.error().message.empty(), "an error has a message");
  const Result<nlohmann::json> text = ParseJson(ToText(Encode(*first)));
  Check(text.has_value(), "what is written is strict JSON");
  const Result<T> second = FromJson<T>(*text);
  Check(second.has_value() && *second == *first, "an object is read as it was written");
}

}  // namespace
}  // namespace adaptdl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const Result<nlohmann::json> document = ParseJson(AsText(data, size));
  if (!document) {
    Check(document.error().message == Printable(document.error().message, 1000),
          "messages are safe to print");
    return 0;
  }
  const Result<nlohmann::json> again = ParseJson(ToText(*document));
  Check(again.has_value() && *again == *document, "a document is read as it was written");
  RoundTrip<Job>(*document);
  RoundTrip<Pod>(*document);
  RoundTrip<Node>(*document);
  RoundTrip<Lease>(*document);
  RoundTrip<Event>(*document);
  if (const Result<Job> job = FromJson<Job>(*document)) {
    const auto requests = job->spec.pod_template.ReadContainers().and_then(PodRequests);
    for (const auto& [resource, amount] : requests.value_or(Resources()))
      Check(amount > 0, "amounts are positive");
    (void)job->spec.pod_template.ReadMetadata();
  }
  return 0;
}
