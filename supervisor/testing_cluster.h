// For tests of the supervisor with real sockets: a cluster in memory that answers on any clock, so also on an
// event loop. No faults and no latencies; those belong to the simulation, which has a clock of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/document.h"
#include "api/replica.h"
#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "cluster/sim/api_server.h"
#include "cluster/sim/validation.h"
#include "nlohmann/json.hpp"

namespace adaptdl::testing {

// All on the clock's thread, as any cluster.
class PostedCluster final : public Cluster {
 public:
  // The clock outlives it.
  explicit PostedCluster(Clock& clock) : clock_(clock) {
    server_.SetListener([this](const Change& change) {
      for (const std::weak_ptr<Stream>& weak : streams_) {
        const std::shared_ptr<Stream> stream = weak.lock();
        if (stream == nullptr) continue;
        if (auto event = Seen(stream->query, change)) Send(stream, *std::move(event));
      }
      std::erase_if(streams_, [](const std::weak_ptr<Stream>& stream) { return stream.expired(); });
    });
  }
  PostedCluster(const PostedCluster&) = delete;
  PostedCluster& operator=(const PostedCluster&) = delete;

  void Get(const Ref& ref, Done<Object> done) override {
    Answer(ObjectOf(server_.Get(ref)), std::move(done));
  }
  void List(const Query& query, std::size_t limit, const std::string& token, Done<Page> done) override {
    Answer(server_.List(query, limit, token), std::move(done));
  }
  [[nodiscard]] std::unique_ptr<Watch> WatchFrom(const Query& query, const std::string& resource_version,
                                                 WatchHandler handler) override {
    auto stream = std::make_shared<Stream>();
    stream->query = query;
    stream->handler = std::move(handler);
    const auto missed = ParseVersion(resource_version).and_then([&](std::uint64_t version) {
      return server_.Since(query, version);
    });
    if (missed) {
      for (const WatchEvent& event : *missed) Send(stream, event);
      streams_.push_back(stream);
    } else {
      Send(stream, tl::unexpected(missed.error()));
    }
    return std::make_unique<PostedWatch>(std::move(stream));
  }
  void Create(Kind kind, const Document& object, Done<Object> done) override {
    Answer(ObjectOf(server_.Create(kind, object, clock_.Wall())), std::move(done));
  }
  void Apply(const Patch& patch, Done<Object> done) override {
    Answer(ObjectOf(server_.Apply(patch, clock_.Wall())), std::move(done));
  }
  void Delete(const Deletion& deletion, Done<void> done) override {
    Answer(server_.Delete(deletion, clock_.Wall()), std::move(done));
  }
  void CheckTemplate(const std::string& /*name_space*/, const PodTemplate& pod_template,
                     Done<void> done) override {
    Answer(ValidateTemplate(pod_template), std::move(done));
  }

  // What a test itself does, at once; that it can be done is taken for granted. Each throws otherwise.

  // A job and its uid.
  std::string CreateJob(const Key& key) {
    const nlohmann::json job = {{"apiVersion", "adaptdl.petuum.com/v1"},
                                {"kind", "AdaptDLJob"},
                                {"metadata", {{"name", key.name}, {"namespace", key.name_space}}},
                                {"spec", {{"template", nlohmann::json::object()}}}};
    return MetadataOf(server_.Create(Kind::kJob, Document(job), clock_.Wall()).value()->object).uid;
  }
  // A replica of it, without an address. Its name is that of the job with group and rank: "job-0-1".
  Key CreateReplica(const Key& job, const Replica& replica) {
    Metadata metadata;
    metadata.name = job.name + "-" + std::to_string(replica.group) + "-" + std::to_string(replica.rank);
    metadata.name_space = job.name_space;
    metadata.labels = ReplicaLabels(job.name);
    metadata.annotations = ReplicaAnnotations(replica);
    metadata.owner =
        Owner{"adaptdl.petuum.com/v1", "AdaptDLJob", job.name, MetadataOf(Read({Kind::kJob, job})).uid};
    const nlohmann::json pod = {{"apiVersion", "v1"},
                                {"kind", "Pod"},
                                {"metadata", Encode(metadata)},
                                {"spec", {{"containers", {{{"name", "main"}, {"image", "i"}}}}}}};
    server_.Create(Kind::kPod, Document(pod), clock_.Wall()).value();
    return KeyOf(metadata);
  }
  // Members of its status: R"({"podIP": "10.0.0.1"})".
  void SetStatus(const Ref& ref, const std::string& merge) {
    const Patch patch{ref, Patch::Part::kStatus, Document::Parse(R"({"status": )" + merge + "}").value()};
    server_.Apply(patch, clock_.Wall()).value();
  }
  Object Read(const Ref& ref) const { return server_.Get(ref).value()->object; }

 private:
  struct Stream {
    Query query;
    WatchHandler handler;
  };
  struct PostedWatch final : Watch {
    explicit PostedWatch(std::shared_ptr<Stream> one) : stream(std::move(one)) {}
    std::shared_ptr<Stream> stream;  // What is on its way only knows it weakly.
  };

  static Result<Object> ObjectOf(const Result<StoredPtr>& stored) {
    return stored.map([](const StoredPtr& one) { return one->object; });
  }

  template <typename T>
  void Answer(Result<T> result, Done<T> done) {
    clock_.Post([alive = std::weak_ptr(alive_), result = std::move(result), done = std::move(done)] {
      if (!alive.expired()) done(result);
    });
  }

  void Send(const std::shared_ptr<Stream>& stream, Result<WatchEvent> event) {
    clock_.Post([weak = std::weak_ptr(stream), event = std::move(event)] {
      if (const auto open = weak.lock()) open->handler(event);  // It may close it.
    });
  }

  Clock& clock_;
  SimApiServer server_{SimApiServer::Options()};
  std::vector<std::weak_ptr<Stream>> streams_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace adaptdl::testing
