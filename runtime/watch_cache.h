// The objects of a query as they were a moment ago, kept in memory and up to date: what decisions are made
// from. A change in the cluster appears here a little later; nothing ever goes back to an earlier state.
//
//   WatchCache<Pod> pods(clock, cluster, query, log, {.indexes = {{"job", JobOfPod}}});
//   pods.Subscribe([&](const Key&, const Pod* before, const Pod* after) { ... });
//   pods.Start();
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/object.h"
#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "runtime/log.h"
#include "runtime/reflector.h"

namespace adaptdl {

// All on the clock's thread.
template <typename T>
class WatchCache final : private Reflector::Sink {
 public:
  using Pointer = std::shared_ptr<const T>;
  // What changed: `before` is null for a new object, `after` for one that is gone. Both live until the
  // handler returns. An object that can no longer be read counts as gone.
  using Handler = std::function<void(const Key& key, const T* before, const T* after)>;
  // Under which values an object is found.
  using Index = std::function<std::vector<std::string>(const T&)>;

  struct Options {
    std::map<std::string, Index> indexes = {};
    // Drops what nobody will ask for, to save memory. Must keep name, namespace and resource version.
    std::function<void(T*)> trim = {};
    Reflector::Options reflector = {};
  };

  // `query.kind` is set here. Clock and cluster outlive the cache.
  WatchCache(Clock& clock, Cluster& cluster, Query query, Logger log, Options options = {})
      : options_(std::move(options)),
        reflector_(clock, cluster, WithKind(std::move(query)), options_.reflector, std::move(log), *this) {
    for (const auto& [name, index] : options_.indexes) indexed_[name];
  }

  // Begins to fill it. Called once.
  void Start() { reflector_.Start(); }

  // Every object that was there at one moment is here: before that, nothing may be concluded from absence.
  bool ready() const { return reflector_.ready(); }
  // Calls `handler` when that becomes so. To be called before Start.
  void WhenReady(std::function<void()> handler) { when_ready_.push_back(std::move(handler)); }

  // Null where there is none. The object does not change: what is found later may be another one.
  Pointer Find(const Key& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second;
  }

  // All of them, in the order of their keys.
  std::vector<Pointer> List() const {
    std::vector<Pointer> list;
    list.reserve(objects_.size());
    for (const auto& [key, object] : objects_) list.push_back(object);
    return list;
  }

  // Those that `index`, one of those given to the constructor, finds under `value`; in the order of their
  // keys.
  std::vector<Pointer> Indexed(const std::string& index, const std::string& value) const {
    std::vector<Pointer> list;
    const auto& values = indexed_.at(index);
    const auto found = values.find(value);
    if (found == values.end()) return list;
    for (const Key* key : found->second) list.push_back(objects_.at(*key));
    return list;
  }

  std::size_t size() const { return objects_.size(); }

  // Objects that are there, but do not read as a T.
  const std::map<Key, Unreadable>& unreadable() const { return unreadable_; }

  // `handler` is called for every change from then on, after the cache shows it, for as long as the cache
  // lives. It must not destroy the cache.
  void Subscribe(Handler handler) { handlers_.push_back(std::move(handler)); }

  // `handler` is called for every object that is there and cannot be read, when that is seen.
  void SubscribeUnreadable(std::function<void(const Unreadable&)> handler) {
    unreadable_handlers_.push_back(std::move(handler));
  }

  // How well it follows, for health and metrics.
  const Reflector& reflector() const { return reflector_; }

 private:
  struct ByKey {
    bool operator()(const Key* a, const Key* b) const { return *a < *b; }
  };

  static Query WithKind(Query query) {
    query.kind = kKindOf<T>;
    return query;
  }

  void Put(Object object) override {
    Key key = KeyOf(MetadataOf(object));
    if (auto* unreadable = std::get_if<Unreadable>(&object)) {
      const auto entry = unreadable_.insert_or_assign(key, std::move(*unreadable)).first;
      Replace(key, nullptr);
      for (const auto& handler : unreadable_handlers_) handler(entry->second);
      return;
    }
    unreadable_.erase(key);
    auto* value = std::get_if<T>(&object);
    if (value == nullptr) return Replace(key, nullptr);  // Of another kind: a promise of the port was broken.
    if (options_.trim) options_.trim(value);
    Replace(key, std::make_shared<const T>(std::move(*value)));
  }

  void Remove(const Key& key) override {
    unreadable_.erase(key);
    Replace(key, nullptr);
  }

  void KeepOnly(const std::set<Key>& keys) override {
    std::vector<Key> gone;
    for (const auto& [key, object] : objects_) {
      if (!keys.contains(key)) gone.push_back(key);
    }
    for (const Key& key : gone) Replace(key, nullptr);
    std::erase_if(unreadable_, [&](const auto& entry) { return !keys.contains(entry.first); });
  }

  void Ready() override {
    for (const auto& handler : when_ready_) handler();
  }

  void Replace(const Key& key, Pointer after) {
    const auto entry = objects_.find(key);
    const Pointer before = entry == objects_.end() ? nullptr : entry->second;
    if (before == after || (before && after && *before == *after)) return;
    if (before) Unindex(entry->first, *before);
    if (after) {
      const auto position = objects_.insert_or_assign(key, after).first;
      AddToIndexes(position->first, *after);
    } else {
      objects_.erase(entry);
    }
    for (const Handler& handler : handlers_) handler(key, before.get(), after.get());
  }

  void AddToIndexes(const Key& key, const T& object) {
    for (const auto& [name, index] : options_.indexes) {
      for (std::string& value : index(object)) indexed_[name][std::move(value)].insert(&key);
    }
  }

  void Unindex(const Key& key, const T& object) {
    for (const auto& [name, index] : options_.indexes) {
      for (const std::string& value : index(object)) {
        auto& values = indexed_[name];
        const auto found = values.find(value);
        if (found == values.end()) continue;  // It gave the same value twice.
        found->second.erase(&key);
        if (found->second.empty()) values.erase(found);
      }
    }
  }

  const Options options_;
  std::map<Key, Pointer> objects_;
  // By index and value. The keys are those of objects_, whose place does not change.
  std::map<std::string, std::map<std::string, std::set<const Key*, ByKey>>> indexed_;
  std::map<Key, Unreadable> unreadable_;
  std::vector<Handler> handlers_;
  std::vector<std::function<void(const Unreadable&)>> unreadable_handlers_;
  std::vector<std::function<void()>> when_ready_;
  Reflector reflector_;  // The last member: it is the first to go, and calls into the others.
};

}  // namespace adaptdl
