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

}  // namespace adaptdl
