#include "cluster/sim/sim_cluster.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cluster/sim/sim_watch.h"
#include "cluster/sim/sim_world.h"
#include "cluster/sim/validation.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kDeadline = seconds(30);  // Of a call, as the client over the network has it.

std::string Describe(std::string_view verb, const Ref& ref) {
  return std::string(verb) + " " + std::string(ToString(ref.kind)) + " " + Printable(ToString(ref.key));
}

std::string Describe(const Query& query) {
  std::string text = "LIST " + std::string(ToString(query.kind));
  if (!query.name_space.empty()) text += " " + Printable(query.name_space);
  for (const auto& [key, value] : query.labels) text += " " + Printable(key) + "=" + Printable(value);
  return text;
}

std::string NameIn(const Document& object) {
  std::string name;
  for (const char* key : {"namespace", "name"}) {
    const nlohmann::json::json_pointer place("/metadata/" + std::string(key));
    const nlohmann::json& value = object.value();
    if (!value.contains(place) || !value[place].is_string()) continue;
    name += (name.empty() ? "" : "/") + value[place].get<std::string>();
  }
  return Printable(name);
}

// What a trace shows of a call that succeeded.
std::string Brief(const Result<Object>& object) {
  return " rv=" + MetadataOf(*object).resource_version + " -> Ok";
}
std::string Brief(const Result<Page>& page) {
  return " rv=" + page->resource_version + " -> Ok (" + std::to_string(page->objects.size()) + ")";
}
std::string Brief(const Result<void>& /*nothing*/) { return " -> Ok"; }

Result<Object> ObjectOf(const Result<StoredPtr>& stored) {
  return stored.map([](const StoredPtr& one) { return one->object; });
}

}  // namespace

SimCluster::SimCluster(SimWorld& world, std::shared_ptr<SimLife> life)
    : world_(world), life_(std::move(life)) {}

SimCluster::Fate SimCluster::DrawFate(bool write) {
  if (!life_->faulty()) return Fate::kFine;
  const FaultPlan& faults = world_.faults();
  if (write && world_.Fault(faults.crash_before_write)) return Fate::kCrashBefore;
  if (write && world_.Fault(faults.crash_after_write)) return Fate::kCrashAfter;
  if (write && world_.Fault(faults.cut_off_after_write)) return Fate::kCutOff;
  if (world_.Fault(faults.unavailable)) return Fate::kUnavailable;
  if (write && world_.Fault(faults.timeout_done)) return Fate::kTimeoutDone;
  if (world_.Fault(faults.timeout_not_done)) return Fate::kTimeoutNotDone;
  return Fate::kFine;
}

template <typename T>
void SimCluster::Send(std::string what, bool write, std::function<Result<T>()> at_server, Done<T> done) {
  if (!life_->running) return;
  const std::uint64_t id = next_call_++;
  const auto owned = std::make_shared<Done<T>>(std::move(done));
  waiting_.emplace(id, owned);
  const Fate fate = DrawFate(write);
  if (fate == Fate::kCrashBefore) {
    world_.Trace(life_->process, what + " -> not sent (crash)");
    return world_.CrashByFault(*life_);
  }
  const Duration there = world_.rng().Between(milliseconds(1), milliseconds(10));
  const Duration back = world_.rng().Between(milliseconds(1), milliseconds(10));
  world_.clock().Schedule(there, [&world = world_, this, life = life_, what = std::move(what), fate, id,
                                  there, back, at_server = std::move(at_server),
                                  waiting = std::weak_ptr<Done<T>>(owned)] {
    const bool away = !world.Reaches(*life);
    const bool arrives = !away && fate != Fate::kUnavailable && fate != Fate::kTimeoutNotDone;
    Result<T> result = Fail(ErrorCode::kUnavailable, "the server could not be reached", true);
    if (arrives) {
      world.writer_ = life->process;
      result = at_server();
      world.writer_.clear();
    }
    const std::string outcome = result ? Brief(result) : " -> " + std::string(ToString(result.error().code));
    const bool timeout = fate == Fate::kTimeoutNotDone || (fate == Fate::kTimeoutDone && arrives);
    const char* fault = "";
    if (away) {
      fault = " (outage)";
    } else if (fate == Fate::kUnavailable) {
      fault = " (fault)";
    } else if (fate == Fate::kTimeoutNotDone) {
      fault = " (timeout, not done)";
    } else if (fate == Fate::kTimeoutDone) {
      fault = result ? " (timeout, done)" : " (timeout)";
    } else if (fate == Fate::kCrashAfter) {
      fault = " (crash before the answer)";
    }
    world.Trace(life->process, what + outcome + fault);
    if (!life->running || waiting.expired()) return;
    if (fate == Fate::kCrashAfter && arrives) return world.CrashByFault(*life);
    if (timeout) result = Fail(ErrorCode::kTimeout, "no answer in time", true);
    world.clock().Schedule(timeout ? kDeadline - there : back,
                           [this, life, id, fate, waiting, result = std::move(result)]() mutable {
                             // Who waits is known to this cluster alone: it is there if they are.
                             const std::shared_ptr<Done<T>> call = waiting.lock();
                             if (call == nullptr || !life->running) return;
                             waiting_.erase(id);
                             if (fate == Fate::kCutOff && world_.FaultsActive()) world_.CutOff(life->process);
                             (*call)(std::move(result));
                           });
  });
}

void SimCluster::Get(const Ref& ref, Done<Object> done) {
  Send<Object>(
      Describe("GET", ref), false, [&server = world_.server(), ref] { return ObjectOf(server.Get(ref)); },
      std::move(done));
}

void SimCluster::List(const Query& query, std::size_t limit, const std::string& token, Done<Page> done) {
  const bool first = token.empty() && life_->listed.insert(query.kind).second;
  const bool stale = first && life_->number > 1 && world_.Fault(world_.faults().stale_list);
  Send<Page>(
      Describe(query) + (stale ? " (stale)" : ""), false,
      [&world = world_, query, limit, token, stale] {
        std::optional<std::uint64_t> version;
        if (stale) {
          const std::uint64_t oldest = world.server().OldestVersion(query.kind);
          version = oldest + world.rng().Below(world.server().version() - oldest + 1);
        }
        return world.server().List(query, limit, token, version);
      },
      std::move(done));
}

std::unique_ptr<Watch> SimCluster::WatchFrom(const Query& query, const std::string& resource_version,
                                             WatchHandler handler) {
  return std::make_unique<SimWatch>(world_, life_, query, resource_version, std::move(handler));
}

void SimCluster::Create(Kind kind, const Document& object, Done<Object> done) {
  Send<Object>(
      "CREATE " + std::string(ToString(kind)) + " " + NameIn(object), true,
      [&world = world_, kind, object] {
        return ObjectOf(world.server().Create(kind, object, world.clock().Wall()));
      },
      std::move(done));
}

void SimCluster::Apply(const Patch& patch, Done<Object> done) {
  Send<Object>(
      Describe(patch.part == Patch::Part::kStatus ? "PATCH status" : "PATCH", patch.ref), true,
      [&world = world_, patch] { return ObjectOf(world.server().Apply(patch, world.clock().Wall())); },
      std::move(done));
}

void SimCluster::Delete(const Deletion& deletion, Done<void> done) {
  Send<void>(
      Describe("DELETE", deletion.ref), true,
      [&world = world_, deletion] { return world.server().Delete(deletion, world.clock().Wall()); },
      std::move(done));
}

void SimCluster::CheckTemplate(const std::string& name_space, const PodTemplate& pod_template,
                               Done<void> done) {
  Send<void>(
      "CHECK template " + Printable(name_space), false,
      [pod_template] { return ValidateTemplate(pod_template); }, std::move(done));
}

}  // namespace adaptdl
