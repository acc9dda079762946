// The port: everything that the control plane asks of a cluster, and does to it. Kubernetes (kube/) and the
// simulation (sim/) stand behind it, and tests/conformance holds both to what is said here.
//
// Threads: each cluster belongs to a clock. Methods are called on the clock's thread and return at once;
// answers come on that thread, later, never inside the call. Each `done` is called exactly once, unless the
// cluster is destroyed before: then it is destroyed without a call.
//
// Errors, the closed set of ErrorCode:
//   kInvalid        the server refuses the object, the patch or the query; the message names the field
//   kNotFound       no such object (or its kind or namespace is not there)
//   kAlreadyExists  (create) an object of that name is there
//   kConflict       a precondition does not hold, or somebody else was faster: read again, decide again
//   kGone           (list with a token, watch) that version is no longer kept: list again from the start
//   kForbidden      neither these credentials nor, after a refusal, fresh ones may do this
//   kUnavailable    not done: the server could not be reached or did not take it, also after retries
//   kTimeout        no answer in time; a write may have happened all the same: read before writing again
//   kInternal       an answer that makes no sense
// What is retryable says so in Error::retryable. Retries that cannot do harm (of reads, and of writes that
// the server certainly did not take) happen behind the port.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/document.h"
#include "api/metadata.h"
#include "api/object.h"
#include "api/pod_template.h"
#include "runtime/result.h"

namespace adaptdl {

struct Ref {
  Kind kind = Kind::kJob;
  Key key;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads it.
  friend auto operator<=>(const Ref&, const Ref&) = default;
};

// Which objects of a kind.
struct Query {
  Kind kind = Kind::kJob;
  std::string name_space;  // Empty: of every namespace.
  Labels labels;           // Those that have all of these labels with these values.
  std::string about = {};  // (events) Those about the object with this uid; empty: about anything.
};

struct Page {
  std::vector<Object> objects;   // Sorted by key.
  std::string resource_version;  // What a watch is to go on from. The same on every page of a list.
  std::string next;              // Token of the next page; empty on the last.
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark };

  Type type = Type::kBookmark;
  std::string resource_version;  // Where a watch can go on after this event.
  // Its state after the change; its last one where it was deleted. Empty in a bookmark.
  std::optional<Object> object;
};

// A stream of changes. Destroying it ends the stream; its handler is not called any more after that.
class Watch {
 public:
  virtual ~Watch() = default;
};

// Events one by one; an error is the last thing that comes. kGone: list again. Any other, also the ordinary
// end of a stream (kUnavailable, retryable): watch again from the last resource version seen.
using WatchHandler = std::function<void(Result<WatchEvent>)>;

struct Patch {
  // The main part of an object and its status change apart from each other: what a patch says about the other
  // part has no effect.
  enum class Part { kMain, kStatus };

  Ref ref;
  Part part = Part::kStatus;
  Document merge;  // RFC 7386: members replace those there are, null removes, lists are replaced whole.
  // What its resource version must still be; kConflict otherwise. Empty: whatever it is, also after the
  // object was deleted and made anew.
  std::string resource_version = {};
};

// What must still be so for a deletion to happen; kConflict otherwise. Empty: not asked.
struct Precondition {
  std::string uid = {};
  std::string resource_version = {};
};

struct Deletion {
  Ref ref;
  Precondition precondition = {};
  // How long the object may take to stop; absent: what it says itself (30 s for a pod). 0: at once, nobody
  // waits.
  std::optional<std::chrono::seconds> grace = {};
};

template <typename T>
using Done = std::function<void(Result<T>)>;

class Cluster {
 public:
  virtual ~Cluster() = default;

  // The object as it is now: not older than any write that this cluster has answered to anybody.
  virtual void Get(const Ref& ref, Done<Object> done) = 0;

  // One page of at most `limit` objects (0: all of them), from the start or from the token of the page
  // before. All pages show the state at one resource version. That is the present one in general, but after a
  // restart a lagging server may show an earlier one; what is missing then comes through the watch.
  virtual void List(const Query& query, std::size_t limit, const std::string& token, Done<Page> done) = 0;

  // Every change after `resource_version`, which came from a page, an event or a bookmark of the same query.
  // For one object changes come in the order in which they happened, and none is left out. An object that
  // stops matching the labels comes as deleted. Bookmarks come now and then, so that an idle watch, too, does
  // not fall behind.
  [[nodiscard]] virtual std::unique_ptr<Watch> WatchFrom(const Query& query,
                                                         const std::string& resource_version,
                                                         WatchHandler handler) = 0;

  // A new object, whole, as the server is to keep it; answers with what became of it. Its metadata.namespace
  // says where, for kinds that have one.
  virtual void Create(Kind kind, const Document& object, Done<Object> done) = 0;

  // Changes the named members and nothing else; answers with the object after that.
  virtual void Apply(const Patch& patch, Done<Object> done) = 0;

  // Asks for the object to go. Done means that this is recorded, not that it is gone: a pod that runs first
  // ends, an object with finalizers waits for them. Objects that it owns go after it.
  virtual void Delete(const Deletion& deletion, Done<void> done) = 0;

  // Whether the server would take a pod of this template; nothing is kept. kInvalid with the server's own
  // words where it would not.
  virtual void CheckTemplate(const std::string& name_space, const PodTemplate& pod_template,
                             Done<void> done) = 0;
};

}  // namespace adaptdl
