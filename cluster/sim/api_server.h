// An API server in memory, with the semantics of Kubernetes' own for the kinds of the control plane. It has
// no clock and no network: time comes in as an argument, and an answer is a return value.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/document.h"
#include "api/object.h"
#include "cluster/cluster.h"
#include "runtime/result.h"

namespace adaptdl {

// One version of an object. Immutable, and shared by all who look at it.
struct Stored {
  Ref ref;
  std::uint64_t version = 0;
  Document document;
  Object object;
  std::vector<Owner> owners;  // All of them, not only the controller.
};
using StoredPtr = std::shared_ptr<const Stored>;

struct Change {
  std::uint64_t version = 0;
  Time at;
  Ref ref;
  StoredPtr before;  // Null: it was created.
  StoredPtr after;   // Null: it is gone.
};

bool Matches(const Query& query, const Stored& object);

// A change as a watch of that query sees it; nothing where it does not concern it.
std::optional<WatchEvent> Seen(const Query& query, const Change& change);

// The number of a resource version, or kInvalid.
Result<std::uint64_t> ParseVersion(const std::string& text);

class SimApiServer {
 public:
  // How much is kept of each kind for watches and for lists of earlier versions: what is beyond either is
  // forgotten.
  struct Options {
    std::size_t history = 10'000;
    std::chrono::seconds age = std::chrono::minutes(10);
  };

  // `seed` goes into the uids.
  explicit SimApiServer(Options options, std::uint64_t seed = 0);

  // Errors are those of the port (cluster/cluster.h), for these as for all below.
  Result<StoredPtr> Get(const Ref& ref) const;
  // The state at `version` (now, where it is absent), or that of the token.
  Result<Page> List(const Query& query, std::size_t limit, const std::string& token,
                    std::optional<std::uint64_t> version = {}) const;
  // What a watch that begins after `version` has missed, in order.
  Result<std::vector<WatchEvent>> Since(const Query& query, std::uint64_t version) const;

  Result<StoredPtr> Create(Kind kind, const Document& object, Time now);
  Result<StoredPtr> Apply(const Patch& patch, Time now);
  Result<void> Delete(const Deletion& deletion, Time now);
  // Puts a pod on a node, which a patch cannot do.
  Result<StoredPtr> Bind(const Key& pod, const std::string& node, Time now);

  // Whether there may be objects whose owners are all gone; Collect deletes those, as a user would, and says
  // which. Owners of other kinds than the control plane's are taken to be there.
  bool has_garbage() const { return !suspects_.empty(); }
  std::vector<Ref> Collect(Time now);

  // From now on only what comes after the present version can be watched or listed.
  void ForgetHistory();

  std::uint64_t version() const { return version_; }
  // The earliest version of which a list can be had.
  std::uint64_t OldestVersion(Kind kind) const;

  // Called after each change; it must not write.
  void SetListener(std::function<void(const Change&)> listener) { listener_ = std::move(listener); }

 private:
  using Objects = std::map<Key, StoredPtr>;
  struct Store {
    Objects objects;
    std::deque<Change> history;
    std::uint64_t oldest = 0;
  };

  Store& store(Kind kind) { return stores_[static_cast<std::size_t>(kind)]; }
  const Store& store(Kind kind) const { return stores_[static_cast<std::size_t>(kind)]; }

  Result<StoredPtr> Find(const Ref& ref, const Precondition& precondition) const;
  // Validates and stores a new version of an object, or its first.
  Result<StoredPtr> Put(Kind kind, nlohmann::json&& value, Time now);
  void Remove(const Ref& ref, Time now);
  void Commit(Change change);
  void Index(const Change& change);
  bool HasLiveOwner(const Stored& object) const;
  std::string NewUid();

  Options options_;
  std::uint64_t seed_;
  std::uint64_t uids_ = 0;
  std::uint64_t version_ = 1;
  std::array<Store, std::size(kAllKinds)> stores_;
  std::map<std::string, std::set<Ref>> dependents_;  // By the uid of their owner.
  std::set<Ref> suspects_;
  std::function<void(const Change&)> listener_;
};

}  // namespace adaptdl
