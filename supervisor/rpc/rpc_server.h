// The supervisor for those who speak gRPC. What they are promised is in proto/adaptdl/v1/supervisor.proto.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cluster/clock.h"
#include "runtime/result.h"
#include "runtime/tls_identity.h"
#include "supervisor/supervisor.h"

namespace adaptdl {

struct RpcServerOptions {
  std::string address = "0.0.0.0";  // Numeric. "::" takes both families.
  std::uint16_t port = 0;           // 0: any free one.
  std::optional<TlsIdentity> tls = {};

  int message_bytes = 64 * 1024;  // Beyond: RESOURCE_EXHAUSTED.
  int metadata_bytes = 8 * 1024;  // Beyond: RESOURCE_EXHAUSTED, too.
  int streams = 100;  // Calls on one connection at the same time; further ones wait at the client.
  // A call may be held for hours; so a silent client is asked now and then whether it is still there.
  std::chrono::milliseconds keepalive{60'000};          // Silent so long,
  std::chrono::milliseconds keepalive_timeout{20'000};  // and no answer in that time: gone.
  std::chrono::milliseconds least_ping{10'000};         // A client that asks more often is cut off.
  std::chrono::milliseconds idle_timeout{300'000};      // Of a connection without calls.
  std::chrono::milliseconds drain{10'000};              // For calls in hand, once the server stops.
};

// All on the clock's thread; gRPC's own threads only bring calls there. None of them is for one call alone.
class RpcServer {
 public:
  // For main, before anything else of gRPC: by itself that library writes to standard error, in a form of its
  // own, and whoever connects can make it. Only what it dies of is still printed.
  static void SilenceLibrary();

  // Serves from now on. Clock and supervisor outlive it. Fails where the address cannot be had, with its
  // name, or the TLS identity is wrong.
  static Result<std::unique_ptr<RpcServer>> Start(Clock& clock, Supervisor& supervisor,
                                                  const RpcServerOptions& options);

  // Cuts off what is left, at once unless the server is stopping: then it waits for that, no longer than
  // `drain` and a little. Also once the clock runs no more.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  std::uint16_t port() const;

  // Takes no more calls, and ends every watch. Those who wait for addresses are left to the supervisor, which
  // answers them when it is drained, or at last cut off once `drain` has passed. Returns at once; `stopped`
  // is called when no call is left, unless the server is gone by then. Later calls do nothing and drop
  // theirs.
  void Stop(std::function<void()> stopped = {});

 private:
  class Core;
  explicit RpcServer(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace adaptdl
