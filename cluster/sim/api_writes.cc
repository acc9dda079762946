// The writes of SimApiServer. Creation, patches, graceful deletion and a job's finalizers were compared with
// a kube-apiserver 1.20; binding, finalizers of pods and owners were not.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "cluster/sim/api_server.h"
#include "cluster/sim/validation.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

constexpr std::int64_t kDefaultGrace = 30;

// Kubernetes keeps whole seconds.
std::string Stamp(Time time) { return FormatTime(std::chrono::floor<std::chrono::seconds>(time)); }

bool Has(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && !found->is_null();
}

std::int64_t Number(const json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<std::int64_t>() : otherwise;
}

std::string Text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// `to` says of `key` what `from` says.
void Keep(const json& from, const char* key, json& to) {
  if (Has(from, key)) {
    to[key] = from[key];
  } else {
    to.erase(key);
  }
}

std::vector<std::string> Finalizers(const json& metadata) {
  std::vector<std::string> all;
  if (!Has(metadata, "finalizers") || !metadata["finalizers"].is_array()) return all;
  for (const json& one : metadata["finalizers"]) {
    if (one.is_string()) all.push_back(one);
  }
  return all;
}

void MarkDeleted(json& metadata, Time when, std::int64_t grace) {
  metadata["deletionTimestamp"] = Stamp(when);
  metadata["deletionGracePeriodSeconds"] = grace;
  if (Has(metadata, "generation")) metadata["generation"] = Number(metadata, "generation", 0) + 1;
}

// What a patch may not say about an object's metadata; what it leaves out or has no say in stays as it was.
Result<void> CheckMetadata(const Ref& ref, const json& before, json& after) {
  if (!after.is_object() || Text(after, "name") != ref.key.name ||
      Text(after, "namespace") != ref.key.name_space) {
    return Invalid("metadata: name and namespace cannot change");
  }
  for (const char* key : {"uid", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    if (!Has(after, key)) {
      Keep(before, key, after);
    } else if (!Has(before, key) || after[key] != before[key]) {
      return Invalid("metadata." + std::string(key) + ": cannot change");
    }
  }
  if (Has(after, "resourceVersion") && after["resourceVersion"] != before["resourceVersion"]) {
    return Fail(ErrorCode::kConflict, Printable(ToString(ref.key)) + ": it has been modified");
  }
  for (const char* key : {"resourceVersion", "creationTimestamp", "generation"}) Keep(before, key, after);
  if (!Has(before, "deletionTimestamp")) return {};
  const std::vector<std::string> known = Finalizers(before);
  for (const std::string& one : Finalizers(after)) {
    if (std::find(known.begin(), known.end(), one) == known.end()) {
      return Invalid("metadata.finalizers: no new ones while the object is being deleted");
    }
  }
  return {};
}

// Undoes what the patch says about the part that it does not speak for. The status of a pod or a node takes
// labels and annotations with it, that of a custom resource does not.
void KeepOtherPart(Kind kind, Patch::Part part, const json& before, json& after) {
  for (const char* key : {"apiVersion", "kind"}) Keep(before, key, after);
  if (part == Patch::Part::kMain) {
    if (HasStatus(kind)) Keep(before, "status", after);
    return;
  }
  if (kind == Kind::kJob) {
    json status = Has(after, "status") ? std::move(after["status"]) : json();
    after = before;
    after.erase("status");
    if (!status.is_null()) after["status"] = std::move(status);
    return;
  }
  Keep(before, "spec", after);
  Keep(before["metadata"], "ownerReferences", after["metadata"]);
}

bool SameSpec(json before, json after) {
  for (const char* key : {"metadata", "status"}) {
    before.erase(key);
    after.erase(key);
  }
  return before == after;
}

}  // namespace

Result<StoredPtr> SimApiServer::Create(Kind kind, const Document& object, Time now) {
  json value = object.value();
  if (!value.is_object() || !Has(value, "metadata") || !value["metadata"].is_object()) {
    return Invalid("metadata: missing");
  }
  if (Has(value, "kind") && value["kind"] != ToString(kind)) return Invalid("kind: not the one asked for");
  json& metadata = value["metadata"];
  const Ref ref{kind, {Text(metadata, "namespace"), Text(metadata, "name")}};
  if (ref.key.name.empty()) return Invalid("metadata.name: missing");
  if (IsNamespaced(kind) && ref.key.name_space.empty()) return Invalid("metadata.namespace: missing");
  if (Has(metadata, "resourceVersion")) return Invalid("metadata.resourceVersion: not of a new object");
  if (!IsNamespaced(kind)) metadata.erase("namespace");
  for (const char* key : {"deletionTimestamp", "deletionGracePeriodSeconds", "generation"}) {
    metadata.erase(key);
  }
  metadata["uid"] = NewUid();
  metadata["creationTimestamp"] = Stamp(now);
  if (kind == Kind::kJob) metadata["generation"] = 1;
  // A kubelet registers its node together with its status, so that one stays.
  if (kind != Kind::kNode) value.erase("status");
  if (kind == Kind::kPod) value["status"] = {{"phase", "Pending"}};
  const Key key{IsNamespaced(kind) ? ref.key.name_space : "", ref.key.name};
  if (store(kind).objects.contains(key)) {
    // What is not valid is told first.
    if (Result<Object> valid = ValidateObject(kind, value); !valid) return tl::unexpected(valid.error());
    return Fail(ErrorCode::kAlreadyExists,
                std::string(ToString(kind)) + " " + Printable(ToString(key)) + " is there already");
  }
  return Put(kind, std::move(value), now);
}

Result<StoredPtr> SimApiServer::Apply(const Patch& patch, Time now) {
  const Kind kind = patch.ref.kind;
  const Result<StoredPtr> found = Find(patch.ref, {.uid = {}, .resource_version = patch.resource_version});
  if (!found) return found;
  if (!HasStatus(kind) && patch.part == Patch::Part::kStatus) {
    return Fail(ErrorCode::kNotFound, std::string(ToString(kind)) + " has no status");
  }
  if (!patch.merge.value().is_object()) return Invalid("the patch is not an object");
  const json& before = (*found)->document.value();
  json after = before;
  after.merge_patch(patch.merge.value());
  if (Result<void> metadata = CheckMetadata(patch.ref, before["metadata"], after["metadata"]); !metadata) {
    return tl::unexpected(metadata.error());
  }
  KeepOtherPart(kind, patch.part, before, after);
  if (after == before) return found;
  if (kind == Kind::kPod) {
    const json none;
    const auto spec = [&](const json& value) -> const json& {
      return Has(value, "spec") ? value["spec"] : none;
    };
    if (Result<void> change = ValidatePodSpecChange(spec(before), spec(after)); !change) {
      return tl::unexpected(change.error());
    }
  }
  json& metadata = after["metadata"];
  if (kind == Kind::kJob && !SameSpec(before, after)) {
    metadata["generation"] = Number(metadata, "generation", 0) + 1;
  }
  const bool last_finalizer_gone = Number(before["metadata"], "deletionGracePeriodSeconds", 1) == 0 &&
                                   !Finalizers(before["metadata"]).empty() && Finalizers(metadata).empty();
  if (!last_finalizer_gone) return Put(kind, std::move(after), now);
  Result<Object> object = ValidateObject(kind, after);
  if (!object) return tl::unexpected(object.error());
  Remove(patch.ref, now);
  return std::make_shared<const Stored>(
      Stored{patch.ref, (*found)->version, Document(std::move(after)), *std::move(object), (*found)->owners});
}

Result<void> SimApiServer::Delete(const Deletion& deletion, Time now) {
  const Result<StoredPtr> found = Find(deletion.ref, deletion.precondition);
  if (!found) return tl::unexpected(found.error());
  const Stored& object = **found;
  json value = object.document.value();
  json& metadata = value["metadata"];
  const bool has_finalizers = !Finalizers(metadata).empty();
  const auto put = [&]() {
    return Put(deletion.ref.kind, std::move(value), now).map([](const StoredPtr&) {});
  };
  const std::optional<Time> deleted = MetadataOf(object.object).deletion_timestamp;
  const auto* pod = std::get_if<Pod>(&object.object);
  if (pod == nullptr) {
    if (!has_finalizers) {
      Remove(deletion.ref, now);
      return {};
    }
    if (deleted) return {};
    MarkDeleted(metadata, now, 0);
    return put();
  }
  // Pods end in their own time: marked first, and removed once their grace is none.
  std::int64_t grace = Number(value["spec"], "terminationGracePeriodSeconds", kDefaultGrace);
  const std::int64_t left = Number(metadata, "deletionGracePeriodSeconds", 0);
  if (!deleted) {
    if (deletion.grace) grace = deletion.grace->count();
    const bool ended = pod->phase == PodPhase::kSucceeded || pod->phase == PodPhase::kFailed;
    if (pod->node_name.empty() || ended) grace = 0;
    MarkDeleted(metadata, now + std::chrono::seconds(grace), grace);
    if (Result<void> marked = put(); !marked) return marked;
  } else if (left > 0) {
    // A grace that runs can only get shorter.
    if (!deletion.grace || deletion.grace->count() >= left) return {};
    grace = deletion.grace->count();
    metadata["deletionTimestamp"] = Stamp(*deleted - std::chrono::seconds(left - grace));
    metadata["deletionGracePeriodSeconds"] = grace;
    if (Result<void> marked = put(); !marked) return marked;
  } else {
    grace = 0;
  }
  if (grace <= 0 && !has_finalizers) Remove(deletion.ref, now);
  return {};
}

Result<StoredPtr> SimApiServer::Bind(const Key& pod, const std::string& node, Time now) {
  const Ref ref{Kind::kPod, pod};
  const Result<StoredPtr> found = Find(ref, {});
  if (!found) return found;
  json value = (*found)->document.value();
  if (Has(value["spec"], "nodeName") || Has(value["metadata"], "deletionTimestamp")) {
    return Fail(ErrorCode::kConflict, Printable(ToString(pod)) + ": it is bound already, or being deleted");
  }
  value["spec"]["nodeName"] = node;
  value["status"]["conditions"] = {{{"type", "PodScheduled"}, {"status", "True"}}};
  return Put(Kind::kPod, std::move(value), now);
}

}  // namespace adaptdl
