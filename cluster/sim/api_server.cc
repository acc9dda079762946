#include "cluster/sim/api_server.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/json.h"
#include "cluster/sim/validation.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

std::string Name(const Ref& ref) {
  return std::string(ToString(ref.kind)) + " " + Printable(ToString(ref.key));
}

Error Conflict(const Ref& ref, std::string_view what) {
  return {ErrorCode::kConflict, Name(ref) + ": " + std::string(what), false};
}

// The bits of splitmix64: neighbours come out far apart.
std::uint64_t Mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// The token of the next page: the version that all pages show, and the last key of this one.
std::string MakeToken(std::uint64_t version, const Key& last) {
  return std::to_string(version) + ":" + last.name_space + "/" + last.name;
}

struct Position {
  std::uint64_t version = 0;
  Key last;
};

Result<Position> ParseToken(const std::string& token) {
  const std::size_t colon = token.find(':');
  const std::size_t slash = token.find('/');
  const Result<std::uint64_t> version = ParseVersion(token.substr(0, colon));
  if (!version || colon == std::string::npos || slash == std::string::npos || slash < colon) {
    return Invalid("'" + Printable(token, 80) + "' is not the token of a page");
  }
  return Position{*version, {token.substr(colon + 1, slash - colon - 1), token.substr(slash + 1)}};
}

bool Selects(const Query& query, const Key& key) {
  return query.name_space.empty() || key.name_space == query.name_space;
}

}  // namespace

Result<std::uint64_t> ParseVersion(const std::string& text) {
  std::uint64_t version = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, version);
  if (error != std::errc() || rest != end) {
    return Invalid("'" + Printable(text, 80) + "' is not a resource version");
  }
  return version;
}

bool Matches(const Query& query, const Stored& object) {
  if (object.ref.kind != query.kind || !Selects(query, object.ref.key)) return false;
  const auto* event = std::get_if<Event>(&object.object);
  if (!query.about.empty() && (event == nullptr || event->about.uid != query.about)) return false;
  const Labels& labels = MetadataOf(object.object).labels;
  return std::all_of(query.labels.begin(), query.labels.end(), [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

std::optional<WatchEvent> Seen(const Query& query, const Change& change) {
  const bool was = change.before != nullptr && Matches(query, *change.before);
  const bool is = change.after != nullptr && Matches(query, *change.after);
  if (!was && !is) return std::nullopt;
  WatchEvent event;
  event.resource_version = std::to_string(change.version);
  if (is) {
    event.type = was ? WatchEvent::Type::kModified : WatchEvent::Type::kAdded;
    event.object = change.after->object;
  } else {
    // The state in which it last matched, but with the version of what took it away.
    event.type = WatchEvent::Type::kDeleted;
    event.object = change.before->object;
    std::visit([&](auto& object) { object.metadata.resource_version = event.resource_version; },
               *event.object);
  }
  return event;
}

SimApiServer::SimApiServer(Options options, std::uint64_t seed) : options_(options), seed_(seed) {}

Result<StoredPtr> SimApiServer::Get(const Ref& ref) const { return Find(ref, {}); }

Result<StoredPtr> SimApiServer::Find(const Ref& ref, const Precondition& precondition) const {
  const Objects& objects = store(ref.kind).objects;
  const auto found = objects.find(ref.key);
  if (found == objects.end()) return Fail(ErrorCode::kNotFound, Name(ref) + " is not there");
  const Metadata& metadata = MetadataOf(found->second->object);
  if (!precondition.uid.empty() && precondition.uid != metadata.uid) {
    return tl::unexpected(Conflict(ref, "it is another one of that name"));
  }
  if (!precondition.resource_version.empty() && precondition.resource_version != metadata.resource_version) {
    return tl::unexpected(Conflict(ref, "it has been modified"));
  }
  return found->second;
}

Result<Page> SimApiServer::List(const Query& query, std::size_t limit, const std::string& token,
                                std::optional<std::uint64_t> version) const {
  const Result<Position> from = token.empty() ? Position{version.value_or(version_), {}} : ParseToken(token);
  if (!from) return tl::unexpected(from.error());
  const Store& all = store(query.kind);
  if (from->version < all.oldest) return Fail(ErrorCode::kGone, "that resource version is too old");
  // What happened since is undone, the latest first.
  Objects earlier;
  const Objects* objects = &all.objects;
  for (auto change = all.history.rbegin(); change != all.history.rend() && change->version > from->version;
       ++change) {
    if (earlier.empty() && objects == &all.objects) earlier = all.objects;
    objects = &earlier;
    if (change->before == nullptr) {
      earlier.erase(change->ref.key);
    } else {
      earlier[change->ref.key] = change->before;
    }
  }
  Page page;
  page.resource_version = std::to_string(from->version);
  const Key* last = nullptr;
  for (auto it = token.empty() ? objects->begin() : objects->upper_bound(from->last); it != objects->end();
       ++it) {
    if (!Matches(query, *it->second)) continue;
    if (limit != 0 && page.objects.size() == limit) {
      page.next = MakeToken(from->version, *last);
      break;
    }
    page.objects.push_back(it->second->object);
    last = &it->first;
  }
  return page;
}

Result<std::vector<WatchEvent>> SimApiServer::Since(const Query& query, std::uint64_t version) const {
  const Store& all = store(query.kind);
  if (version < all.oldest) return Fail(ErrorCode::kGone, "that resource version is too old");
  std::vector<WatchEvent> events;
  const auto first = std::partition_point(all.history.begin(), all.history.end(),
                                          [&](const Change& change) { return change.version <= version; });
  for (auto change = first; change != all.history.end(); ++change) {
    if (std::optional<WatchEvent> event = Seen(query, *change)) events.push_back(*std::move(event));
  }
  return events;
}

Result<StoredPtr> SimApiServer::Put(Kind kind, json&& value, Time now) {
  json& metadata = value["metadata"];
  metadata["resourceVersion"] = std::to_string(version_ + 1);
  Result<std::vector<Owner>> owners = ReadOwners(metadata);
  if (!owners) return tl::unexpected(owners.error());
  Result<Object> object = ValidateObject(kind, value);
  if (!object) return tl::unexpected(object.error());
  const Ref ref{kind, KeyOf(MetadataOf(*object))};
  const auto found = store(kind).objects.find(ref.key);
  const StoredPtr before = found == store(kind).objects.end() ? nullptr : found->second;
  auto after = std::make_shared<const Stored>(
      Stored{ref, version_ + 1, Document(std::move(value)), *std::move(object), *std::move(owners)});
  Commit({.version = 0, .at = now, .ref = ref, .before = before, .after = after});
  return after;
}

void SimApiServer::Remove(const Ref& ref, Time now) {
  const StoredPtr before = store(ref.kind).objects.at(ref.key);
  Commit({.version = 0, .at = now, .ref = ref, .before = before, .after = nullptr});
}

void SimApiServer::Commit(Change change) {
  change.version = ++version_;
  Store& all = store(change.ref.kind);
  if (change.after == nullptr) {
    all.objects.erase(change.ref.key);
  } else {
    all.objects[change.ref.key] = change.after;
  }
  Index(change);
  all.history.push_back(change);
  while (all.history.size() > options_.history || all.history.front().at + options_.age < change.at) {
    all.oldest = all.history.front().version;
    all.history.pop_front();
  }
  if (listener_) listener_(change);
}

// Keeps who owns what, and finds those who may have lost their owner.
void SimApiServer::Index(const Change& change) {
  if (change.before != nullptr) {
    for (const Owner& owner : change.before->owners) {
      const auto found = dependents_.find(owner.uid);
      if (found == dependents_.end()) continue;
      found->second.erase(change.ref);
      if (found->second.empty()) dependents_.erase(found);
    }
  }
  if (change.after != nullptr) {
    for (const Owner& owner : change.after->owners) dependents_[owner.uid].insert(change.ref);
    const bool first = change.before == nullptr || change.before->owners != change.after->owners;
    if (first && !HasLiveOwner(*change.after)) suspects_.insert(change.ref);
  } else if (const auto owned = dependents_.find(MetadataOf(change.before->object).uid);
             owned != dependents_.end()) {
    suspects_.insert(owned->second.begin(), owned->second.end());
  }
}

// Also where it never had an owner.
bool SimApiServer::HasLiveOwner(const Stored& object) const {
  return object.owners.empty() ||
         std::any_of(object.owners.begin(), object.owners.end(), [&](const Owner& owner) {
           const auto kind = std::find_if(std::begin(kAllKinds), std::end(kAllKinds),
                                          [&](Kind one) { return ToString(one) == owner.kind; });
           if (kind == std::end(kAllKinds)) return true;
           const Key key{IsNamespaced(*kind) ? object.ref.key.name_space : "", owner.name};
           const auto found = store(*kind).objects.find(key);
           return found != store(*kind).objects.end() && MetadataOf(found->second->object).uid == owner.uid;
         });
}

std::vector<Ref> SimApiServer::Collect(Time now) {
  std::vector<Ref> collected;
  for (const Ref& ref : std::exchange(suspects_, {})) {
    const Result<StoredPtr> object = Get(ref);
    if (!object || HasLiveOwner(**object) || MetadataOf((*object)->object).deletion_timestamp) continue;
    if (Delete({.ref = ref}, now)) collected.push_back(ref);
  }
  return collected;
}

void SimApiServer::ForgetHistory() {
  for (Store& all : stores_) {
    all.oldest = version_;
    all.history.clear();
  }
}

std::uint64_t SimApiServer::OldestVersion(Kind kind) const { return store(kind).oldest; }

std::string SimApiServer::NewUid() {
  constexpr std::string_view kHex = "0123456789abcdef";
  const std::uint64_t count = uids_++;
  const std::uint64_t halves[] = {Mix(seed_ ^ Mix(2 * count)), Mix(seed_ ^ Mix(2 * count + 1))};
  std::string uid;
  for (std::size_t i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) uid += '-';
    uid += kHex[halves[i / 16] >> (4 * (i % 16)) & 15U];
  }
  return uid;
}

}  // namespace adaptdl
