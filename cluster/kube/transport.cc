#include "cluster/kube/transport.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/kube/quiet_thread.h"

namespace adaptdl {
namespace {

constexpr long kConnectTimeoutMs = 10'000;
constexpr long kKeepAliveIdleSeconds = 15;
constexpr long kKeepAliveIntervalSeconds = 5;
constexpr int kUserTimeoutMs = 30'000;  // A peer that acknowledges nothing for so long is gone.
// Something in between may acknowledge for a peer that is gone. Where a transfer ran out of time and nobody
// has heard anything for so long, the connection is not used again.
constexpr auto kSilence = std::chrono::seconds(10);
constexpr long kMaxStreams = 1000;
constexpr std::size_t kSpareHandles = 64;

template <auto Free>
struct FreeWith {
  template <typename T>
  void operator()(T* thing) const {
    Free(thing);
  }
};
// To libcurl's users both kinds of handle are void.
using Easy = std::unique_ptr<CURL, FreeWith<curl_easy_cleanup>>;
using Multi = std::unique_ptr<CURLM, FreeWith<curl_multi_cleanup>>;
using Url = std::unique_ptr<CURLU, FreeWith<curl_url_cleanup>>;
using Headers = std::unique_ptr<curl_slist, FreeWith<curl_slist_free_all>>;

void Append(Headers* headers, const std::string& line) {
  curl_slist* longer = curl_slist_append(headers->get(), line.c_str());
  if (longer == nullptr) return;
  (void)headers->release();
  headers->reset(longer);
}

void SetBlob(CURL* easy, CURLoption option, const std::string& text) {
  if (text.empty()) return;
  // Not copied: the transfer holds the identity for as long as the handle is used.
  curl_blob blob{const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
  curl_easy_setopt(easy, option, &blob);
}

int OnSocket(void*, curl_socket_t socket, curlsocktype) {
  // Without it, a connection whose other end vanished while we wrote would hang for a quarter of an hour.
  (void)setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof kUserTimeoutMs);
  return CURL_SOCKOPT_OK;
}

}  // namespace

class Transport::Loop {
 public:
  Loop(TransportOptions options, std::string base, Headers connect_to, std::string host)
      : options_(std::move(options)),
        base_(std::move(base)),
        connect_to_(std::move(connect_to)),
        host_(std::move(host)),
        multi_(NewMulti()) {
    thread_ = QuietThread([this] { Run(); });
  }

  ~Loop() {
    Command([this] { stop_ = true; });
    thread_.join();
    for (auto& [id, transfer] : transfers_) curl_multi_remove_handle(multi_.get(), transfer->easy.get());
  }

  std::uint64_t Start(TransferRequest request, Handler done) {
    auto transfer = std::make_shared<Transfer>();
    transfer->heard = [this] { last_heard_ = std::chrono::steady_clock::now(); };
    transfer->request = std::move(request);
    transfer->done = std::move(done);
    std::uint64_t id = 0;
    {
      const std::lock_guard lock(mutex_);
      id = ++last_id_;
      commands_.emplace_back([this, id, transfer = std::move(transfer)] { Begin(id, transfer); });
      curl_multi_wakeup(multi_.get());
    }
    return id;
  }

  void Cancel(std::uint64_t id) {
    Command([this, id] { Remove(id); });
  }

 private:
  struct Transfer {
    std::function<void()> heard;  // Called with every piece that comes.
    TransferRequest request;
    Handler done;
    Easy easy;
    Headers headers;
    std::string url;
    TransferAnswer answer;
    bool sent = false;
    std::array<char, CURL_ERROR_SIZE> error{};
  };

  void Command(std::function<void()> command) {
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(std::move(command));
      curl_multi_wakeup(multi_.get());
    }
  }

  static Multi NewMulti() {
    Multi multi(curl_multi_init());
    curl_multi_setopt(multi.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi.get(), CURLMOPT_MAX_CONCURRENT_STREAMS, kMaxStreams);
    return multi;
  }

  void Run() {
    constexpr int kLongWaitMs = 60'000;  // libcurl wakes up earlier for its own timers.
    while (true) {
      std::vector<std::function<void()>> commands;
      {
        const std::lock_guard lock(mutex_);
        commands.swap(commands_);
      }
      for (const auto& command : commands) command();
      if (stop_) return;
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      int left = 0;
      bool out_of_time = false;
      while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        out_of_time = out_of_time || message->data.result == CURLE_OPERATION_TIMEDOUT;
        Finish(message->easy_handle, message->data.result);
      }
      if (out_of_time && std::chrono::steady_clock::now() - last_heard_ >= kSilence) DropConnections();
      curl_multi_poll(multi_.get(), nullptr, 0, kLongWaitMs, nullptr);
    }
  }

  // Ends every transfer, as their connection would if it broke, and begins anew.
  void DropConnections() {
    last_heard_ = std::chrono::steady_clock::now();
    std::vector<std::shared_ptr<Transfer>> lost;
    for (const auto& [id, transfer] : transfers_) lost.push_back(transfer);
    while (!transfers_.empty()) Remove(transfers_.begin()->first);
    spare_.clear();
    {
      const std::lock_guard lock(mutex_);
      multi_ = NewMulti();
    }
    for (const std::shared_ptr<Transfer>& transfer : lost) {
      TransferAnswer& answer = transfer->answer;
      answer.end = transfer->sent ? TransferAnswer::End::kLost : TransferAnswer::End::kNotSent;
      answer.message = "the connection has gone silent";
      transfer->done(std::move(answer));
    }
  }

  void Begin(std::uint64_t id, const std::shared_ptr<Transfer>& transfer) {
    if (spare_.empty()) {
      transfer->easy.reset(curl_easy_init());
    } else {
      transfer->easy = std::move(spare_.back());
      spare_.pop_back();
    }
    Prepare(id, transfer.get());
    transfers_.emplace(id, transfer);
    curl_multi_add_handle(multi_.get(), transfer->easy.get());
  }

  void Prepare(std::uint64_t id, Transfer* transfer) {
    CURL* easy = transfer->easy.get();
    const TransferRequest& request = transfer->request;
    transfer->url = base_ + request.target;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, reinterpret_cast<void*>(id));
    curl_easy_setopt(easy, CURLOPT_URL, transfer->url.c_str());
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error.data());
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                     static_cast<long>(std::max<std::int64_t>(1, request.timeout.count())));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    // Rather wait for the connection that is being made than make one more. Only TLS tells early whether it
    // can be shared; otherwise one would wait for the first answer.
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, base_.starts_with("https:") ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, &OnSocket);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &OnSending);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &OnBody);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    if (options_.insecure_skip_tls_verify) {
      curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
      curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (connect_to_) curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_.get());
    // A packed stream would show its events late.
    if (!request.on_data) curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    if (request.method != "GET") {
      curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    }
    PrepareHeaders(transfer);
    if (request.identity == nullptr) return;
    SetBlob(easy, CURLOPT_CAINFO_BLOB, request.identity->ca);
    SetBlob(easy, CURLOPT_SSLCERT_BLOB, request.identity->certificate);
    SetBlob(easy, CURLOPT_SSLKEY_BLOB, request.identity->key);
  }

  void PrepareHeaders(Transfer* transfer) {
    const TransferRequest& request = transfer->request;
    Headers& headers = transfer->headers;
    Append(&headers, "Accept: application/json");
    Append(&headers, "User-Agent: " + options_.user_agent);
    Append(&headers, "Expect:");  // Do not wait for a go-ahead before a long body.
    if (!host_.empty()) Append(&headers, "Host: " + host_);
    if (!request.content_type.empty()) Append(&headers, "Content-Type: " + request.content_type);
    if (request.identity != nullptr && !request.identity->token.empty()) {
      Append(&headers, "Authorization: Bearer " + request.identity->token);
    }
    curl_easy_setopt(transfer->easy.get(), CURLOPT_HTTPHEADER, headers.get());
  }

  // There is a connection, and the request is about to go out. libcurl sends it again by itself where a
  // connection that was kept breaks before the answer begins; the server may have got it all the same.
  static int OnSending(void* data, char*, char*, int, int) {
    auto* transfer = static_cast<Transfer*>(data);
    if (transfer->sent && transfer->request.method != "GET") return CURL_PREREQFUNC_ABORT;
    transfer->sent = true;
    return CURL_PREREQFUNC_OK;
  }

  static std::size_t OnBody(char* bytes, std::size_t, std::size_t size, void* data) {
    constexpr std::size_t kRefuse = 0;
    auto* transfer = static_cast<Transfer*>(data);
    transfer->heard();
    TransferAnswer& answer = transfer->answer;
    if (answer.status == 0) answer.status = StatusOf(transfer->easy.get());
    const std::string_view piece(bytes, size);
    if (transfer->request.on_data && answer.status / 100 == 2) {
      if (transfer->request.on_data(piece)) return size;
      answer.end = TransferAnswer::End::kStopped;
      return kRefuse;
    }
    if (size > transfer->request.max_body - answer.body.size()) {
      answer.end = TransferAnswer::End::kTooLarge;
      return kRefuse;
    }
    answer.body += piece;
    return size;
  }

  static int StatusOf(CURL* easy) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return static_cast<int>(status);
  }

  void Finish(CURL* easy, CURLcode code) {
    void* id = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &id);
    const auto found = transfers_.find(reinterpret_cast<std::uint64_t>(id));
    if (found == transfers_.end()) return;
    const std::shared_ptr<Transfer> transfer = found->second;
    TransferAnswer& answer = transfer->answer;
    answer.status = StatusOf(easy);
    if (code == CURLE_OK) transfer->heard();
    curl_off_t retry_after = 0;
    curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after);
    answer.retry_after = std::chrono::seconds(std::max<curl_off_t>(0, retry_after));
    if (code != CURLE_OK) {
      if (answer.end == TransferAnswer::End::kAnswered) answer.end = EndOf(code, *transfer);
      answer.message =
          Printable(transfer->error[0] != '\0' ? transfer->error.data() : curl_easy_strerror(code));
    }
    Remove(found->first);
    transfer->done(std::move(answer));
  }

  static TransferAnswer::End EndOf(CURLcode code, const Transfer& transfer) {
    switch (code) {
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CERTPROBLEM:
      case CURLE_SSL_CACERT_BADFILE:
      case CURLE_SSL_ISSUER_ERROR:
        return TransferAnswer::End::kUntrusted;
      default:
        if (!transfer.sent) return TransferAnswer::End::kNotSent;
        return code == CURLE_OPERATION_TIMEDOUT ? TransferAnswer::End::kTimeout : TransferAnswer::End::kLost;
    }
  }

  void Remove(std::uint64_t id) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) return;
    Easy easy = std::move(found->second->easy);
    transfers_.erase(found);
    curl_multi_remove_handle(multi_.get(), easy.get());
    if (spare_.size() == kSpareHandles) return;
    curl_easy_reset(easy.get());
    spare_.push_back(std::move(easy));
  }

  const TransportOptions options_;
  const std::string base_;
  const Headers connect_to_;
  const std::string host_;

  std::mutex mutex_;
  std::uint64_t last_id_ = 0;
  std::vector<std::function<void()>> commands_;

  Multi multi_;  // Replaced by the I/O thread under the lock; others only wake it, under the lock.
  // Of the I/O thread, as long as it runs.
  std::map<std::uint64_t, std::shared_ptr<Transfer>> transfers_;
  std::vector<Easy> spare_;
  bool stop_ = false;
  std::chrono::steady_clock::time_point last_heard_ = std::chrono::steady_clock::now();  // From the server.
  std::thread thread_;
};

Transport::Transport(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

Transport::~Transport() {
  loop_.reset();
  curl_global_cleanup();
}

Result<std::unique_ptr<Transport>> Transport::Create(TransportOptions options) {
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return Fail(ErrorCode::kInternal, "libcurl does not start");
  const Url url(curl_url());
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    std::string out;
    if (curl_url_get(url.get(), which, &text, CURLU_DEFAULT_PORT) == CURLUE_OK) out = text;
    curl_free(text);
    return out;
  };
  const bool parsed = curl_url_set(url.get(), CURLUPART_URL, options.server.c_str(), 0) == CURLUE_OK;
  const std::string host = part(CURLUPART_HOST);
  if (!parsed || host.empty()) {
    curl_global_cleanup();
    return Invalid("server: '" + Printable(options.server) + "' is no URL");
  }
  std::string base = options.server;
  Headers connect_to;
  std::string host_header;
  if (!options.tls_server_name.empty()) {
    // libcurl checks the certificate against the host of the URL, so that one is replaced, and the connection
    // made to the real one.
    const std::string port = part(CURLUPART_PORT);
    const std::string path = part(CURLUPART_PATH);
    base = part(CURLUPART_SCHEME) + "://" + options.tls_server_name + ":" + port + (path == "/" ? "" : path);
    Append(&connect_to, options.tls_server_name + ":" + port + ":" + host + ":" + port);
    host_header = host + ":" + port;
  }
  return std::unique_ptr<Transport>(new Transport(std::make_unique<Loop>(
      std::move(options), std::move(base), std::move(connect_to), std::move(host_header))));
}

std::uint64_t Transport::Start(TransferRequest request, Handler done) {
  return loop_->Start(std::move(request), std::move(done));
}

void Transport::Cancel(std::uint64_t transfer) { loop_->Cancel(transfer); }

}  // namespace adaptdl
