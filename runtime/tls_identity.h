// Who a server is in TLS: certificate and key, checked when they are loaded rather than at the first
// handshake.
#pragma once

#include <memory>
#include <string>

#include "runtime/result.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX.

namespace adaptdl {

struct TlsIdentity {
  std::string certificates;  // PEM: the server's own first, then those that lead to its authority.
  std::string key;           // PEM, without a passphrase. Gets into no message.

  friend bool operator==(const TlsIdentity&, const TlsIdentity&) = default;
};

// What connections of a server are made from, TLS 1.2 or newer. Fails where either part does not read or the
// two do not belong together.
Result<std::shared_ptr<ssl_ctx_st>> MakeServerTls(const TlsIdentity& identity);

}  // namespace adaptdl
