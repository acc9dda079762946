#include "runtime/tls_identity.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace adaptdl {
namespace {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio Open(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

// OpenSSL would ask on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

Certificate NextCertificate(const Bio& in) {
  return {PEM_read_bio_X509(in.get(), nullptr, NoPassphrase, nullptr), X509_free};
}

Result<void> Load(const TlsIdentity& identity, SSL_CTX* context) {
  const Bio certificates = Open(identity.certificates);
  const Certificate own = NextCertificate(certificates);
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) {
    return Invalid("TLS certificate: not a certificate in PEM");
  }
  while (const Certificate next = NextCertificate(certificates)) {
    if (SSL_CTX_add1_chain_cert(context, next.get()) != 1)
      return Invalid("TLS certificate: its chain does not read");
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {  // Anything but the end.
    return Invalid("TLS certificate: its chain does not read");
  }
  ERR_clear_error();
  const Key key(PEM_read_bio_PrivateKey(Open(identity.key).get(), nullptr, NoPassphrase, nullptr),
                EVP_PKEY_free);
  if (!key) return Invalid("TLS key: not a private key in PEM without a passphrase");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return Invalid("TLS key: does not belong to the certificate");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<ssl_ctx_st>> MakeServerTls(const TlsIdentity& identity) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return Fail(ErrorCode::kInternal, "TLS: OpenSSL gives no context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  ERR_clear_error();
  const Result<void> loaded = Load(identity, context.get());
  ERR_clear_error();  // What is left there would be taken for a failure of the next connection.
  if (!loaded) return tl::unexpected(loaded.error());
  return context;
}

}  // namespace adaptdl
