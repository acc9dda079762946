// A server's certificate and key in files that somebody renews: cert-manager, a mounted Secret, an
// administrator.
#pragma once

#include <string>

#include "runtime/reloader.h"
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

// Hands over what is new in the files. `use` is HttpServer::ReloadTls.
class TlsReloader {
 public:
  using Use = Reloader<TlsIdentity>::Use;

  // `in_use` is what the server began with. The clock outlives it.
  TlsReloader(Clock& clock, const TlsFiles& files, TlsIdentity in_use, Use use, Logger log,
              Duration period = std::chrono::seconds(10))
      : reloader_(
            clock, "TLS certificate", std::move(in_use), [files] { return ReadTlsFiles(files); },
            std::move(use), std::move(log), period) {}

 private:
  Reloader<TlsIdentity> reloader_;
};

}  // namespace adaptdl
