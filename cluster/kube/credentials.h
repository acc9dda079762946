// What to show to the server now: read from files, printed by a plugin, or simply given.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "cluster/kube/exec_plugin.h"
#include "cluster/kube/kube_config.h"
#include "cluster/kube/transport.h"
#include "runtime/result.h"

namespace adaptdl {

// Reads all that a connection names. Blocks: runs the plugin, and kills it once `stop_fd` can be read.
Result<PluginCredentials> LoadIdentity(const KubeConnection& connection, int stop_fd);

// All methods on the clock's thread. Loading happens on another thread, one at a time.
class Credentials {
 public:
  using Ready = Done<std::shared_ptr<const Identity>>;

  Credentials(KubeConnection connection, Clock& clock);
  // Those who still wait are not called.
  ~Credentials();
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  // Calls `ready` inside this call where what was loaded is still good; otherwise later, once it is loaded.
  // Files are read again after ten seconds, a plugin runs again when what it gave expires. As long as that
  // fails, what there is goes on being used, unless it was refused or has expired.
  void Get(Ready ready);

  // The server, or we, did not accept this identity: it is loaded again before the next use.
  void Refuse(const std::shared_ptr<const Identity>& identity);

 private:
  void Load();
  void Loaded(Result<PluginCredentials> loaded);

  const KubeConnection connection_;
  Clock& clock_;
  std::shared_ptr<const Identity> identity_;  // Null until the first is loaded.
  std::optional<Instant> load_again_;         // When it is no longer fresh; absent: never.
  std::optional<Instant> expires_;            // When it is no longer good.
  std::optional<Error> failure_;              // Of the last load; counts until `load_again_`.
  std::vector<Ready> waiting_;
  bool loading_ = false;
  int stop_fd_;
  std::thread loader_;
  std::shared_ptr<void> alive_ = std::make_shared<int>();
};

}  // namespace adaptdl
