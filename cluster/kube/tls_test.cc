// Whom the transport trusts, and how it shows itself, over real TLS.
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <future>

#include "cluster/kube/quiet_thread.h"
#include "cluster/kube/scripted_server.h"
#include "cluster/kube/transport.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using End = TransferAnswer::End;

struct Pem {
  std::string certificate;
  std::string key;
};

std::string Text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string out(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return out;
}

// A certificate that vouches for itself.
Pem SelfSigned(const std::string& common_name, const std::string& alternative_names) {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_EXTENSION* names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternative_names.c_str());
  X509_add_ext(certificate, names, -1);
  X509_EXTENSION_free(names);
  X509_sign(certificate, key, EVP_sha256());
  BIO* certificate_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, certificate);
  BIO* key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return {Text(certificate_text), Text(key_text)};
}

// Answers one connection after the other, with the common name of the client's certificate.
class TlsServer {
 public:
  explicit TlsServer(const Pem& own)
      : context_(SSL_CTX_new(TLS_server_method())), listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    BIO* text = BIO_new_mem_buf(own.certificate.data(), -1);
    X509* certificate = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(context_, certificate);
    X509_free(certificate);
    BIO_free(text);
    text = BIO_new_mem_buf(own.key.data(), -1);
    EVP_PKEY* key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
    SSL_CTX_use_PrivateKey(context_, key);
    EVP_PKEY_free(key);
    BIO_free(text);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener_, SOMAXCONN) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      std::abort();
    }
    port_ = std::to_string(ntohs(address.sin_port));
    thread_ = QuietThread([this] { Run(); });
  }
  ~TlsServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
    SSL_CTX_free(context_);
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  const std::string& port() const { return port_; }

 private:
  void Run() {
    for (int fd = 0; (fd = accept(listener_, nullptr, nullptr)) >= 0; close(fd)) {
      SSL* ssl = SSL_new(context_);
      SSL_set_fd(ssl, fd);
      std::array<char, 4096> request{};
      if (SSL_accept(ssl) == 1 && SSL_read(ssl, request.data(), request.size()) > 0) Answer(ssl);
      SSL_free(ssl);
    }
  }

  static void Answer(SSL* ssl) {
    std::array<char, 100> name{};
    if (X509* peer = SSL_get1_peer_certificate(ssl)) {
      X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, name.data(), name.size());
      X509_free(peer);
    }
    const std::string body = name.data();
    const std::string answer =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
    SSL_shutdown(ssl);
  }

  SSL_CTX* context_;
  int listener_;
  std::string port_;
  std::thread thread_;
};

TEST(ThreadsTls, Trust) {
  const Pem own = SelfSigned("server", "IP:127.0.0.1,DNS:api.test");
  const Pem other = SelfSigned("server", "IP:127.0.0.1,DNS:api.test");
  const Pem elsewhere = SelfSigned("server", "IP:127.0.0.2,DNS:other.test");
  const Pem client = SelfSigned("client", "DNS:client");
  const struct {
    const char* name;
    const Pem* server;
    Identity identity;
    std::string tls_server_name;
    bool insecure;
    End end;
    std::string body;
  } cases[] = {
      {"as it should be", &own, {.ca = own.certificate}, "", false, End::kAnswered, ""},
      {"nobody vouches", &own, {}, "", false, End::kUntrusted, ""},
      {"somebody else vouches", &own, {.ca = other.certificate}, "", false, End::kUntrusted, ""},
      {"for another address", &elsewhere, {.ca = elsewhere.certificate}, "", false, End::kUntrusted, ""},
      {"by the name asked for",
       &elsewhere,
       {.ca = elsewhere.certificate},
       "other.test",
       false,
       End::kAnswered,
       ""},
      {"not by the name asked for", &own, {.ca = own.certificate}, "other.test", false, End::kUntrusted, ""},
      {"not looked at", &own, {}, "", true, End::kAnswered, ""},
      {"no certificate at all", &own, {.ca = "rubbish"}, "", false, End::kUntrusted, ""},
      {"we show ours",
       &own,
       {.ca = own.certificate, .certificate = client.certificate, .key = client.key},
       "",
       false,
       End::kAnswered,
       "client"},
      {"ours with another's key",
       &own,
       {.ca = own.certificate, .certificate = client.certificate, .key = other.key},
       "",
       false,
       End::kUntrusted,
       ""},
  };
  for (const auto& one : cases) {
    const TlsServer server(*one.server);
    const auto transport = *Transport::Create({.server = "https://127.0.0.1:" + server.port(),
                                               .tls_server_name = one.tls_server_name,
                                               .insecure_skip_tls_verify = one.insecure});
    std::promise<TransferAnswer> done;
    transport->Start({.method = "POST", .target = "/", .identity = std::make_shared<Identity>(one.identity)},
                     [&](TransferAnswer answer) { done.set_value(std::move(answer)); });
    const TransferAnswer answer = done.get_future().get();
    EXPECT_EQ(answer.end, one.end) << one.name << ": " << answer.message;
    EXPECT_EQ(answer.body, one.body) << one.name;
  }
}

}  // namespace
}  // namespace adaptdl
