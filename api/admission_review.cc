#include "api/admission_review.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
constexpr std::string_view kReviewKind = "AdmissionReview";

struct Review {
  AdmissionRequest request;
};

void ReadWord(const Reader& in, std::string_view key, std::string_view expected) {
  std::string word;
  in.Required(key, &word);
  if (word != expected) in.Fail(key, "'" + Printable(word, 80) + "' is not " + std::string(expected));
}

bool IsAboutJobs(const Reader& in) {
  std::string group;
  std::string kind;
  if (const auto of = in.Find("kind")) {
    of->Optional("group", &group);
    of->Required("kind", &kind);
  } else {
    in.Fail("kind", "missing");
  }
  return group == "adaptdl.petuum.com" && kind == "AdaptDLJob";
}

// An object without members where there is none.
json SpecOf(const Reader& object) {
  const auto spec = object.Find("spec");
  if (spec && spec->value().is_object()) return spec->value();
  if (spec) spec->FailExpected("an object");
  return json::object();
}

// To Kubernetes a member that is null is not there. Some tools write it (creationTimestamp), others drop it.
bool SameButForNulls(const json& a, const json& b) {
  if (a.is_array() && b.is_array()) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameButForNulls);
  }
  if (!a.is_object() || !b.is_object()) return a == b;
  const auto covers = [](const json& all, const json& some) {
    const auto& members = some.get_ref<const json::object_t&>();
    return std::all_of(members.begin(), members.end(), [&](const auto& member) {
      const auto& [key, value] = member;
      if (value.is_null()) return true;
      const auto other = all.find(key);
      return other != all.end() && !other->is_null();
    });
  };
  if (!covers(a, b) || !covers(b, a)) return false;
  const auto& members = a.get_ref<const json::object_t&>();
  return std::all_of(members.begin(), members.end(), [&](const auto& member) {
    return member.second.is_null() || SameButForNulls(member.second, b.at(member.first));
  });
}

std::vector<std::string> ChangedFields(const json& before, const json& after) {
  const json defaults = Encode(Job()).at("spec");
  const auto effective = [&](const json& spec, const std::string& name) {
    const json value = spec.value(name, json());
    return value.is_null() ? defaults.value(name, json()) : value;
  };
  std::set<std::string> names;
  for (const json* spec : {&before, &after}) {
    for (const auto& [name, value] : spec->items()) names.insert(name);
  }
  std::erase_if(names, [&](const std::string& name) {
    return SameButForNulls(effective(before, name), effective(after, name));
  });
  return {names.begin(), names.end()};
}

JobCreation ReadCreation(const Reader& object) {
  JobCreation out;
  if (const auto metadata = object.Find("metadata")) {
    metadata->Optional("name", &out.name);
    metadata->Optional("generateName", &out.generate_name);
  }
  const json spec = SpecOf(object);
  out.spec = FromJson<JobSpec>(spec, "spec");
  for (const auto& [name, value] : spec.items()) {
    const auto& known = kJobSpecFields;
    if (!value.is_null() && std::find(std::begin(known), std::end(known), name) == std::end(known)) {
      out.unknown_fields.push_back(name);
    }
  }
  return out;
}

JobUpdate ReadUpdate(const Reader& before, const Reader& after) {
  const json spec = SpecOf(after);
  json mutable_part = {{"template", json::object()}};  // The only one that must be there.
  for (const std::string_view name : kMutableJobSpecFields) {
    if (const auto found = spec.find(name); found != spec.end()) mutable_part[std::string(name)] = *found;
  }
  return {.changed_fields = ChangedFields(SpecOf(before), spec),
          .mutable_part = FromJson<JobSpec>(mutable_part, "spec")};
}

void ReadRequest(const Reader& in, AdmissionRequest* out) {
  std::string operation;
  std::string sub_resource;
  in.Required("uid", &out->uid);
  in.Required("operation", &operation);
  in.Optional("subResource", &sub_resource);
  in.Optional("namespace", &out->job.name_space);
  in.Optional("name", &out->job.name);
  const bool is_job = IsAboutJobs(in) && sub_resource.empty();
  constexpr std::string_view kOperations[] = {"CREATE", "UPDATE", "DELETE", "CONNECT"};
  if (std::find(std::begin(kOperations), std::end(kOperations), operation) == std::end(kOperations)) {
    in.Fail("operation", "'" + Printable(operation, 80) + "' is none that is known");
  }
  if (out->uid.empty()) in.Fail("uid", "empty");
  const bool creates = operation == "CREATE";
  if (!is_job || (!creates && operation != "UPDATE")) return;
  const auto object = in.Find("object");
  const auto old_object = in.Find("oldObject");
  if (!object) return in.Fail("object", "missing");
  if (creates) {
    JobCreation creation = ReadCreation(*object);
    if (out->job.name.empty()) out->job.name = creation.name;
    out->wish = std::move(creation);
  } else {
    if (!old_object) return in.Fail("oldObject", "missing");
    out->wish = ReadUpdate(*old_object, *object);
  }
}

void Decode(const Reader& in, Review* out) {
  ReadWord(in, "apiVersion", kApiVersion);
  ReadWord(in, "kind", kReviewKind);
  if (const auto request = in.Find("request")) return ReadRequest(*request, &out->request);
  in.Fail("request", "missing");
}

}  // namespace

Result<AdmissionRequest> ParseAdmissionReview(std::string_view text) {
  return ParseJson(text)
      .and_then([](const json& value) { return FromJson<Review>(value); })
      .map([](Review&& review) { return std::move(review.request); });
}

std::string AdmissionReviewText(const std::string& uid, const AdmissionAnswer& answer) {
  json response = {{"uid", uid}, {"allowed", answer.allowed}};
  if (!answer.allowed) {
    response["status"] = {
        {"status", "Failure"}, {"code", answer.code}, {"reason", answer.reason}, {"message", answer.message}};
  }
  if (!answer.warnings.empty()) response["warnings"] = answer.warnings;
  return ToText({{"apiVersion", kApiVersion}, {"kind", kReviewKind}, {"response", std::move(response)}});
}

}  // namespace adaptdl
