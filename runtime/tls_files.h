// A server's certificate and key in files that somebody renews: cert-manager, a mounted Secret, an
// administrator.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cluster/clock.h"
#include "runtime/log.h"
#include "runtime/result.h"
#include "runtime/tls_identity.h"

namespace adaptdl {

// Paths.
struct TlsFiles {
  std::string certificates;
  std::string key;
};

// Both as they are now; whether they belong together is not looked at.
Result<TlsIdentity> ReadTlsFiles(const TlsFiles& files);

// Looks at the files now and then, and hands over what is new in them. All on the clock's thread.
class TlsReloader {
 public:
  // HttpServer::ReloadTls: where it fails, what was in use stays in use.
  using Use = std::function<Result<void>(const TlsIdentity& identity)>;

  // `in_use` is what the server began with. The clock outlives it.
  TlsReloader(Clock& clock, TlsFiles files, TlsIdentity in_use, Use use, Logger log,
              Duration period = std::chrono::seconds(10));
  TlsReloader(const TlsReloader&) = delete;
  TlsReloader& operator=(const TlsReloader&) = delete;

 private:
  void Look();

  Clock& clock_;
  const TlsFiles files_;
  const Use use_;
  const Logger log_;
  const Duration period_;
  TlsIdentity seen_;         // The last that was there, whether it could be used or not.
  bool unreadable_ = false;  // At the last look.
  Timer timer_;
};

}  // namespace adaptdl
