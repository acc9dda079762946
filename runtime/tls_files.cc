#include "runtime/tls_files.h"

#include <utility>

#include "runtime/small_file.h"

namespace adaptdl {

Result<TlsIdentity> ReadTlsFiles(const TlsFiles& files) {
  constexpr std::size_t kMaxBytes = 1 << 20;
  return ReadSmallFile(files.certificates, kMaxBytes).and_then([&](std::string&& certificates) {
    return ReadSmallFile(files.key, kMaxBytes).map([&](std::string&& key) {
      return TlsIdentity{.certificates = std::move(certificates), .key = std::move(key)};
    });
  });
}

TlsReloader::TlsReloader(Clock& clock, TlsFiles files, TlsIdentity in_use, Use use, Logger log,
                         Duration period)
    : clock_(clock),
      files_(std::move(files)),
      use_(std::move(use)),
      log_(std::move(log)),
      period_(period),
      seen_(std::move(in_use)),
      timer_(clock_.After(period_, [this] { Look(); })) {}

void TlsReloader::Look() {
  timer_ = clock_.After(period_, [this] { Look(); });
  Result<TlsIdentity> identity = ReadTlsFiles(files_);
  const bool was_unreadable = std::exchange(unreadable_, !identity);
  if (!identity) {
    if (!was_unreadable) log_.Warn("TLS files cannot be read", {{"why", identity.error().message}});
    return;
  }
  if (*identity == seen_) return;
  seen_ = *std::move(identity);
  if (const Result<void> used = use_(seen_)) {
    log_.Info("TLS certificate renewed", {{"file", files_.certificates}});
  } else {
    // Perhaps only one of the two has been renewed yet; the next look will tell.
    log_.Warn("TLS certificate not renewed, the one before stays in use", {{"why", used.error().message}});
  }
}

}  // namespace adaptdl
