#include "cluster/kube/credentials.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cluster/kube/quiet_thread.h"
#include "runtime/small_file.h"

namespace adaptdl {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;
constexpr auto kReadAgain = std::chrono::seconds(10);
constexpr auto kTryAgain = std::chrono::seconds(2);
constexpr auto kLongest = std::chrono::hours(24 * 365);
constexpr auto kPluginLimit = std::chrono::seconds(60);

bool HasFiles(const KubeConnection& connection) {
  const auto is_file = [](const TextOrFile& one) { return !one.path.empty(); };
  return is_file(connection.certificate_authority) || is_file(connection.client_certificate) ||
         is_file(connection.client_key) || is_file(connection.token);
}

// A token becomes part of a header line, where anything else would do harm.
bool IsToken(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

std::string Trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

Result<PluginCredentials> LoadIdentity(const KubeConnection& connection, int stop_fd) {
  PluginCredentials out;
  if (const auto& exec = connection.exec) {
    auto printed = RunPlugin(*exec, stop_fd, kPluginLimit).and_then([&](const std::string& text) {
      return ParseExecCredential(text, exec->api_version).map_error([&](Error error) {
        error.message = "credential plugin " + Printable(exec->command) + ": " + error.message;
        return error;
      });
    });
    if (!printed) return printed;
    out = *std::move(printed);
  }
  const auto read = [](const TextOrFile& from, std::string* to) -> Result<void> {
    if (from.path.empty()) {
      if (!from.text.empty()) *to = from.text;
      return {};
    }
    return ReadSmallFile(from.path, kMaxFileBytes).map([&](std::string&& text) { *to = std::move(text); });
  };
  for (const auto& [from, to] : {std::pair(&connection.certificate_authority, &out.identity.ca),
                                 std::pair(&connection.client_certificate, &out.identity.certificate),
                                 std::pair(&connection.client_key, &out.identity.key),
                                 std::pair(&connection.token, &out.identity.token)}) {
    if (const Result<void> done = read(*from, to); !done) {
      return Fail(ErrorCode::kUnavailable, "credentials: " + done.error().message, true);
    }
  }
  out.identity.token = Trimmed(out.identity.token);
  if (!IsToken(out.identity.token))
    return Invalid("credentials: the token holds spaces or control characters");
  return out;
}

Credentials::Credentials(KubeConnection connection, Clock& clock)
    : connection_(std::move(connection)), clock_(clock), stop_fd_(eventfd(0, EFD_CLOEXEC)) {}

Credentials::~Credentials() {
  const std::uint64_t one = 1;
  (void)!write(stop_fd_, &one, sizeof one);
  if (loader_.joinable()) loader_.join();
  close(stop_fd_);
}

void Credentials::Get(Ready ready) {
  const Instant now = clock_.Now();
  const bool stale = load_again_ && now >= *load_again_;
  if (!loading_ && !stale && identity_ != nullptr && !(expires_ && now >= *expires_)) return ready(identity_);
  if (!loading_ && !stale && failure_) return ready(tl::unexpected(*failure_));
  waiting_.push_back(std::move(ready));
  if (!loading_) Load();
}

void Credentials::Refuse(const std::shared_ptr<const Identity>& identity) {
  if (identity != identity_) return;  // There is already another one.
  identity_.reset();
  failure_.reset();
}

void Credentials::Load() {
  loading_ = true;
  if (loader_.joinable()) loader_.join();  // It has posted its result and ends.
  loader_ = QuietThread([this, alive = std::weak_ptr(alive_)] {
    auto loaded = std::make_shared<Result<PluginCredentials>>(LoadIdentity(connection_, stop_fd_));
    clock_.Post([this, alive, loaded] {
      if (!alive.expired()) Loaded(std::move(*loaded));
    });
  });
}

void Credentials::Loaded(Result<PluginCredentials> loaded) {
  const Instant now = clock_.Now();
  loading_ = false;
  load_again_.reset();
  failure_.reset();
  if (loaded) {
    expires_.reset();
    // Where nothing has changed the old one stays, so that who holds it need not wonder.
    if (identity_ == nullptr || *identity_ != loaded->identity) {
      identity_ = std::make_shared<const Identity>(std::move(loaded->identity));
    }
    if (HasFiles(connection_)) load_again_ = now + kReadAgain;
    if (loaded->expires) {
      // What has expired already is tried all the same, but not again and again; and a date may be further
      // off than an Instant can be.
      using Microseconds = std::chrono::microseconds;
      expires_ =
          now + std::clamp(*loaded->expires - clock_.Wall(), Microseconds(kTryAgain), Microseconds(kLongest));
      load_again_ = std::min(load_again_.value_or(*expires_), *expires_);
    }
  } else {
    failure_ = loaded.error();
    load_again_ = now + kTryAgain;
  }
  const bool good = identity_ != nullptr && !(expires_ && now >= *expires_);
  for (const Ready& ready : std::exchange(waiting_, {})) {
    if (good) {
      ready(identity_);
    } else {
      ready(tl::unexpected(loaded.error()));
    }
  }
}

}  // namespace adaptdl
