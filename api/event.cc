#include "api/event.h"

#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

void Decode(const Reader& in, Event* out) {
  in.Required("metadata", &out->metadata);
  if (out->metadata.name.empty()) in.Fail("metadata", "without a name");
  std::string type;
  if (const auto about = in.Find("involvedObject")) {
    about->Optional("apiVersion", &out->about.api_version);
    about->Optional("kind", &out->about.kind);
    about->Optional("name", &out->about.name);
    about->Optional("uid", &out->about.uid);
  }
  in.Optional("type", &type);
  out->warning = type == "Warning";
  in.Optional("reason", &out->reason);
  in.Optional("message", &out->message);
  if (const auto source = in.Find("source")) source->Optional("component", &out->component);
  in.Optional("lastTimestamp", &out->at);
}

json Encode(const Event& event) {
  json about = {{"apiVersion", event.about.api_version},
                {"kind", event.about.kind},
                {"namespace", event.metadata.name_space},
                {"name", event.about.name},
                {"uid", event.about.uid}};
  json out = {{"apiVersion", "v1"},
              {"kind", "Event"},
              {"metadata", Encode(event.metadata)},
              {"involvedObject", std::move(about)},
              {"type", event.warning ? "Warning" : "Normal"},
              {"reason", event.reason},
              {"message", event.message},
              {"source", {{"component", event.component}}},
              {"count", 1}};
  if (event.at) {
    out["firstTimestamp"] = FormatTime(*event.at);
    out["lastTimestamp"] = FormatTime(*event.at);
  }
  return out;
}

}  // namespace adaptdl
