// Objects and a small process for tests of simulated clusters.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/document.h"
#include "cluster/cluster.h"
#include "cluster/sim/sim_world.h"

namespace adaptdl::testing {

inline Document Parsed(const std::string& text) { return Document::Parse(text).value(); }

inline Document JobNamed(const std::string& name, const std::string& name_space = "default") {
  return Parsed(R"({"apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob", "metadata": {"name": ")" +
                name + R"(", "namespace": ")" + name_space + R"("}, "spec": {"template": {}}})");
}

// `metadata` and `spec` are further members of these two: R"(, "labels": {}})".
inline Document PodNamed(const std::string& name, const std::string& metadata = "",
                         const std::string& spec = "") {
  return Parsed(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": ")" +
                name + "\"" + metadata + R"(}, "spec": {"containers": [{"name": "main", "image": "i"}])" +
                spec + "}}");
}

inline Ref PodRef(const std::string& name) { return {Kind::kPod, {"default", name}}; }
inline Ref JobRef(const std::string& name) { return {Kind::kJob, {"default", name}}; }

inline Patch StatusPatch(Ref ref, const std::string& merge, std::string resource_version = {}) {
  return {std::move(ref), Patch::Part::kStatus, Parsed(merge), std::move(resource_version)};
}
inline Patch MainPatch(Ref ref, const std::string& merge, std::string resource_version = {}) {
  return {std::move(ref), Patch::Part::kMain, Parsed(merge), std::move(resource_version)};
}

// Keeps a copy of all objects of a kind, through whatever happens to its streams, and touches the status of
// each job once it sees it.
class Mirror {
 public:
  Mirror(Clock& clock, Cluster& cluster, Kind kind) : clock_(clock), cluster_(cluster), kind_(kind) {
    List();
  }

  const std::map<Key, Object>& objects() const { return objects_; }
  int lists() const { return lists_; }

 private:
  void List() {
    ++lists_;
    cluster_.List({.kind = kind_, .name_space = "", .labels = {}}, 0, "", [this](Result<Page> page) {
      if (!page) return Retry([this] { List(); });
      objects_.clear();
      for (const Object& object : page->objects) See(object);
      version_ = page->resource_version;
      Watch();
    });
  }

  void Watch() {
    watch_ = cluster_.WatchFrom({.kind = kind_, .name_space = "", .labels = {}}, version_,
                                [this](Result<WatchEvent> event) {
                                  if (event) return OnEvent(*event);
                                  const bool gone = event.error().code == ErrorCode::kGone;
                                  Retry([this, gone] { gone ? List() : Watch(); });
                                });
  }

  void OnEvent(const WatchEvent& event) {
    version_ = event.resource_version;
    if (event.type == WatchEvent::Type::kBookmark) return;
    if (event.type == WatchEvent::Type::kDeleted) {
      objects_.erase(KeyOf(MetadataOf(*event.object)));
    } else {
      See(*event.object);
    }
  }

  void See(const Object& object) {
    const Key key = KeyOf(MetadataOf(object));
    objects_.insert_or_assign(key, object);
    const auto* job = std::get_if<Job>(&object);
    if (job == nullptr || job->status.phase) return;
    const std::string& same = job->metadata.resource_version;
    cluster_.Apply(StatusPatch({kind_, key}, R"({"status": {"phase": "Pending"}})", same), [](auto) {});
  }

  void Retry(std::function<void()> what) {
    retry_ = clock_.After(std::chrono::milliseconds(500), std::move(what));
  }

  Clock& clock_;
  Cluster& cluster_;
  Kind kind_;
  std::map<Key, Object> objects_;
  std::string version_;
  int lists_ = 0;
  std::unique_ptr<adaptdl::Watch> watch_;
  Timer retry_;
};

}  // namespace adaptdl::testing
