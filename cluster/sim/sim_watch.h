// One stream of changes to one process.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "cluster/cluster.h"
#include "cluster/sim/sim_cluster.h"
#include "cluster/sim/sim_world.h"

namespace adaptdl {

class SimWatch final : public Watch {
 public:
  // `world` outlives it. Connects after a moment.
  SimWatch(SimWorld& world, std::shared_ptr<SimLife> life, Query query, std::string resource_version,
           WatchHandler handler);
  ~SimWatch() override;
  SimWatch(const SimWatch&) = delete;
  SimWatch& operator=(const SimWatch&) = delete;

  const Query& query() const { return query_; }
  const std::string& process() const { return life_->process; }
  // Nothing is delivered inside these.
  void OnChange(const Change& change);
  void OnOutage();
  // Nothing comes any more until it breaks, then.
  void FallSilent(Instant until);

 private:
  struct Item {
    Instant due;
    Result<WatchEvent> event;
  };

  void Connect(const std::string& resource_version);
  void ScheduleBookmark();
  void Push(WatchEvent event);
  // What was not delivered yet is dropped, and the error comes after a moment.
  void Break(Error error, std::string_view fault = {});
  // The error comes after all else.
  void Finish(Error error);
  void Enqueue(Duration delay, Result<WatchEvent> event);
  void Arm();
  void Deliver();
  void Trace(const std::string& what) const;

  SimWorld& world_;
  std::shared_ptr<SimLife> life_;
  Query query_;
  std::shared_ptr<WatchHandler> handler_;  // Shared, as it may destroy this watch while it runs.
  std::uint64_t number_;
  bool connected_ = false;
  bool silent_ = false;
  bool ended_ = false;
  std::deque<Item> items_;
  Timer delivery_;
  Timer bookmark_;
  Timer end_;
  Timer silence_;
};

}  // namespace adaptdl
