// One call to the API server, from rate limit to last retry.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "cluster/clock.h"
#include "cluster/kube/credentials.h"
#include "cluster/kube/kube_cluster.h"
#include "cluster/kube/transport.h"
#include "runtime/rate_limit.h"

namespace adaptdl {

struct ApiCall {
  std::string verb;  // As Kubernetes names it.
  Kind kind = Kind::kJob;
  std::string what;  // "get Pod ns/name", for messages.
  // Its timeout and identity are set here; a stream brings its own timeout.
  TransferRequest request;
  // Reads the body of a 2xx answer, on the I/O thread.
  std::function<std::shared_ptr<void>(std::string_view body)> decode;
  // The server is asked to keep nothing: it may be tried again like a read, and what is wrong with it is told
  // in the server's own words.
  bool dry_run = false;
};

// All methods on the clock's thread, where handlers are called, too. Once it is destroyed none is.
class ApiClient {
 public:
  using Handler = Done<std::shared_ptr<void>>;  // What `decode` returned, or why there is none.

  ApiClient(std::unique_ptr<Transport> transport, KubeConnection connection, KubeOptions options,
            Clock& clock);

  // `done` is called once, not inside this call. The number is for Cancel.
  std::uint64_t Start(ApiCall call, Handler done);
  // `done` is not called any more.
  void Cancel(std::uint64_t id);

 private:
  struct Pending {
    ApiCall call;
    Handler done;
    Instant deadline;
    int attempt = 0;
    bool renewed = false;  // The credentials, for this call.
    Timer timer;
    std::shared_ptr<const Identity> identity;
    std::uint64_t transfer = 0;
  };

  // Each runs on from where the one before has waited.
  void Schedule(std::uint64_t id, Duration delay);
  void Authenticate(std::uint64_t id);
  void Send(std::uint64_t id, std::shared_ptr<const Identity> identity);
  void Answered(std::uint64_t id, const TransferAnswer& answer, std::shared_ptr<void> value);
  void Finish(std::uint64_t id, Result<std::shared_ptr<void>> result);
  void FailLater(std::uint64_t id, Error error);

  Clock& clock_;
  const KubeOptions options_;
  RateLimit limit_;
  std::mt19937_64 random_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Pending> calls_;
  std::unique_ptr<Transport> transport_;
  Credentials credentials_;
  std::shared_ptr<void> alive_ = std::make_shared<int>();
};

}  // namespace adaptdl
