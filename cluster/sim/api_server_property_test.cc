// Rules that hold for the simulated API server whatever is done to it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/sim/api_server.h"
#include "cluster/sim/sim_testing.h"

namespace adaptdl {
namespace {

using std::chrono::seconds;
using testing::MainPatch;
using testing::PodNamed;
using testing::PodRef;
using testing::StatusPatch;

const Query kQueries[] = {
    {Kind::kPod, "", {}}, {Kind::kPod, "default", {{"l", "x"}}}, {Kind::kPod, "elsewhere", {}}};

// A drawn write to one of a few pods; most of them do something.
void DoSomething(SimApiServer& server, Time now) {
  const std::string name = *rc::gen::element<std::string>("a", "b", "c");
  const std::string label = *rc::gen::element<std::string>("\"x\"", "\"y\"", "null");
  const Ref ref = PodRef(name);
  switch (*rc::gen::inRange(0, 7)) {
    case 0:
    case 1:
      (void)server.Create(Kind::kPod, PodNamed(name, R"(, "labels": {"l": "x"})"), now);
      break;
    case 2:
      (void)server.Apply(MainPatch(ref, R"({"metadata": {"labels": {"l": )" + label + "}}}"), now);
      break;
    case 3:
      (void)server.Apply(StatusPatch(ref, R"({"status": {"phase": "Running"}})"), now);
      break;
    case 4:
      (void)server.Bind(ref.key, "n", now);
      break;
    case 5:
      (void)server.Delete({.ref = ref}, now);
      break;
    default:
      (void)server.Delete({.ref = ref, .precondition = {}, .grace = seconds(0)}, now);
  }
}

using State = std::map<Key, Object>;

State StateOf(const Page& page) {
  State state;
  for (const Object& object : page.objects) state.emplace(KeyOf(MetadataOf(object)), object);
  return state;
}

RC_GTEST_PROP(SimApiServerProperty, AListAndTheWatchAfterItGiveThePresent, ()) {
  SimApiServer server({.history = 20, .age = seconds(1000)});
  std::map<std::uint64_t, std::vector<State>> lists;  // What each version showed while it was the present.
  Time now{};
  const int steps = *rc::gen::inRange(0, 60);
  for (int i = 0; i < steps; ++i) {
    std::vector<State> states;
    for (const Query& query : kQueries) states.push_back(StateOf(server.List(query, 0, "").value()));
    lists.insert_or_assign(server.version(), std::move(states));
    DoSomething(server, now);
    now += seconds(1);
  }
  for (const auto& [version, states] : lists) {
    for (std::size_t q = 0; q < std::size(kQueries); ++q) {
      const Result<Page> page = server.List(kQueries[q], 0, "", version);
      const Result<std::vector<WatchEvent>> events = server.Since(kQueries[q], version);
      RC_ASSERT(page.has_value() == (version >= server.OldestVersion(Kind::kPod)));
      RC_ASSERT(events.has_value() == page.has_value());
      if (!page) continue;
      State state = StateOf(*page);
      RC_ASSERT(state == states[q]);
      for (const WatchEvent& event : *events) {
        const Key key = KeyOf(MetadataOf(*event.object));
        RC_ASSERT((event.type == WatchEvent::Type::kAdded) == !state.contains(key));
        if (event.type == WatchEvent::Type::kDeleted) {
          state.erase(key);
        } else {
          state.insert_or_assign(key, *event.object);
        }
      }
      RC_ASSERT(state == StateOf(server.List(kQueries[q], 0, "").value()));
    }
  }
}

RC_GTEST_PROP(SimApiServerProperty, VersionsRiseByOneForEachChange, ()) {
  SimApiServer server({});
  std::uint64_t last = server.version();
  server.SetListener([&](const Change& change) {
    RC_ASSERT(change.version == last + 1);
    last = change.version;
    RC_ASSERT(change.before != nullptr || change.after != nullptr);
    if (change.after != nullptr) {
      RC_ASSERT(change.after->version == change.version);
      RC_ASSERT(MetadataOf(change.after->object).resource_version == std::to_string(change.version));
    }
    if (change.before != nullptr && change.after != nullptr) {
      RC_ASSERT(MetadataOf(change.before->object).uid == MetadataOf(change.after->object).uid);
    }
  });
  const int steps = *rc::gen::inRange(0, 60);
  for (int i = 0; i < steps; ++i) DoSomething(server, Time{});
  RC_ASSERT(last == server.version());
}

RC_GTEST_PROP(SimApiServerProperty, PagesTogetherAreTheList, ()) {
  SimApiServer server({});
  const int steps = *rc::gen::inRange(0, 20);
  for (int i = 0; i < steps; ++i) DoSomething(server, Time{});
  const Page whole = server.List(kQueries[0], 0, "").value();
  const auto limit = *rc::gen::inRange<std::size_t>(1, 4);
  std::vector<Object> objects;
  std::string token;
  do {
    const Page page = server.List(kQueries[0], limit, token).value();
    RC_ASSERT(page.objects.size() <= limit);
    RC_ASSERT(page.resource_version == whole.resource_version);
    objects.insert(objects.end(), page.objects.begin(), page.objects.end());
    token = page.next;
    DoSomething(server, Time{});
  } while (!token.empty());
  RC_ASSERT(objects == whole.objects);
}

}  // namespace
}  // namespace adaptdl
