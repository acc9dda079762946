#include "api/event.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/generators.h"
#include "api/json.h"
#include "api/object.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

constexpr const char* kEvent = R"({
  "apiVersion": "v1", "kind": "Event", "metadata": {"name": "j.17", "namespace": "n"},
  "involvedObject": {"apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob", "namespace": "n", "name": "j", "uid": "u"},
  "type": "Warning", "reason": "PodFailure", "message": "it failed", "source": {"component": "adaptdl-operator"},
  "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "count": 1})";

Event SomeEvent() {
  Event event;
  event.metadata = {.name = "j.17", .name_space = "n"};
  event.about = {"adaptdl.petuum.com/v1", "AdaptDLJob", "j", "u"};
  event.warning = true;
  event.reason = "PodFailure";
  event.message = "it failed";
  event.component = "adaptdl-operator";
  event.at = ParseTime("2026-01-01T00:00:00Z").value();
  return event;
}

TEST(EventTest, IsWrittenAsKubernetesWantsIt) {
  EXPECT_EQ(ToText(Encode(SomeEvent()), 1), ToText(ParseJson(kEvent).value(), 1));
  EXPECT_EQ(DecodeObject(Kind::kEvent, ParseJson(kEvent).value()), Object(SomeEvent()));
}

// Others write events too, by either of the two APIs that there are.
TEST(EventTest, NeedsNothingButAName) {
  const auto read = [](const char* text) { return FromJson<Event>(ParseJson(text).value()); };
  Event named;
  named.metadata.name = "e";
  EXPECT_EQ(read(R"({"metadata": {"name": "e"}})"), named);
  EXPECT_EQ(
      read(
          R"({"metadata": {"name": "e"}, "type": "Normal", "involvedObject": {}, "source": {}, "firstTimestamp": null,
                     "lastTimestamp": null, "eventTime": "2026-01-01T00:00:00.000000Z"})"),
      named);
  EXPECT_EQ(read("{}").error().message, "metadata: missing");
  EXPECT_EQ(read(R"({"metadata": {"namespace": "n"}})").error().message, "metadata: without a name");
  EXPECT_EQ(read(R"({"metadata": {"name": "e"}, "involvedObject": 3})").error().message,
            "involvedObject: expected an object, found the number 3");
  EXPECT_EQ(read(R"({"metadata": {"name": "e"}, "reason": 3})").error().message,
            "reason: expected text, found the number 3");
}

RC_GTEST_PROP(EventTest, ReadsWhatItWrites, ()) {
  const Event event = {.metadata = generate::SomeMetadata(),
                       .about = generate::SomeOwner(),
                       .warning = generate::Flag(),
                       .reason = generate::Text(),
                       .message = generate::Text(),
                       .component = generate::Text(),
                       .at = generate::Maybe(generate::PointInTime)};
  RC_ASSERT(DecodeObject(Kind::kEvent, ParseJson(ToText(Encode(event))).value()) == Object(event));
}

}  // namespace
}  // namespace adaptdl
