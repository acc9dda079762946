// For tests: certificates that are made on the spot.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "runtime/tls_identity.h"

namespace adaptdl {

// A certificate that signs itself, with a key of its own.
inline TlsIdentity MakeIdentity(const std::string& name, const char* passphrase = nullptr) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  const std::basic_string<unsigned char> bytes(name.begin(), name.end());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, bytes.c_str(), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
  const auto text = [](const Bio& bio) -> std::string {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(size)};
  };
  const Bio certificate_text(BIO_new(BIO_s_mem()), BIO_free);
  const Bio key_text(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(certificate_text.get(), certificate.get());
  PEM_write_bio_PKCS8PrivateKey(key_text.get(), key.get(),
                                passphrase == nullptr ? nullptr : EVP_aes_128_cbc(), passphrase,
                                passphrase == nullptr ? 0 : 4, nullptr, nullptr);
  return {.certificates = text(certificate_text), .key = text(key_text)};
}

}  // namespace adaptdl
