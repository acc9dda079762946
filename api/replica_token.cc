#include "api/replica_token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace adaptdl {

namespace {

constexpr std::size_t kMinKey = 32;
constexpr std::size_t kMaxKey = 256;
constexpr std::size_t kMaxUid = 64;
constexpr std::size_t kSealBytes = 32;
// The kind of this token. It is sealed too, so that no other message under the same key can pass for one.
constexpr std::string_view kVersion = "v1";

std::string Base64Url(const unsigned char* bytes, std::size_t size) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    bits = bits << 8U | bytes[i];
    for (count += 8; count >= 6; count -= 6) out += kDigits[bits >> static_cast<unsigned>(count - 6) & 63U];
  }
  if (count > 0) out += kDigits[bits << static_cast<unsigned>(6 - count) & 63U];
  return out;
}

std::string SealWith(const std::string& key, const ReplicaIdentity& identity) {
  // No part can hold a line break, so that no two identities read the same.
  std::string message = "adaptdl replica ";
  message += kVersion;
  for (const std::string& part :
       {identity.name_space, identity.job, identity.uid, std::to_string(identity.group)}) {
    message += "\n" + part;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(message.data()),  // NOLINT(google-readability-casting)
       message.size(), digest.data(), &size);
  return Base64Url(digest.data(), std::min<std::size_t>(size, kSealBytes));
}

bool IsUid(std::string_view text) {
  return !text.empty() && text.size() <= kMaxUid && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

// The text up to the next dot, which goes from `rest` with it.
std::string_view Part(std::string_view* rest) {
  const std::string_view part = rest->substr(0, rest->find('.'));
  rest->remove_prefix(std::min(part.size() + 1, rest->size()));
  return part;
}

}  // namespace

Result<TokenKeys> TokenKeys::Parse(std::string_view text) {
  std::vector<std::string> keys;
  int number = 0;
  while (!text.empty()) {
    ++number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    const bool plain = std::all_of(line.begin(), line.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    if (!plain || line.size() < kMinKey || line.size() > kMaxKey) {
      return Invalid("line " + std::to_string(number) + ": a key has " + std::to_string(kMinKey) + " to " +
                     std::to_string(kMaxKey) + " characters, none of them a space");
    }
    keys.emplace_back(line);
  }
  if (keys.empty()) return Invalid("there is no key");
  return TokenKeys(std::move(keys));
}

std::string TokenKeys::Seal(const ReplicaIdentity& identity) const {
  return std::string(kVersion) + "." + std::to_string(identity.group) + "." + identity.uid + "." +
         SealWith(keys_->front(), identity);
}

Result<ReplicaIdentity> TokenKeys::Open(std::string_view token, const std::string& name_space,
                                        const std::string& job) const {
  const auto refused = [] { return Fail(ErrorCode::kForbidden, "the token is not one of this job"); };
  if (token.size() > kMaxTokenBytes || Part(&token) != kVersion) return refused();
  ReplicaIdentity identity{.name_space = name_space, .job = job};
  const std::string_view group = Part(&token);
  std::from_chars(group.data(), group.data() + group.size(), identity.group);
  const std::string_view uid = Part(&token);
  if (identity.group < 0 || std::to_string(identity.group) != group || !IsUid(uid)) return refused();
  identity.uid = uid;
  bool known = false;
  for (const std::string& key : *keys_) {
    const std::string seal = SealWith(key, identity);
    const bool same =
        seal.size() == token.size() && CRYPTO_memcmp(seal.data(), token.data(), seal.size()) == 0;
    known = known || same;
  }
  if (!known) return refused();
  return identity;
}

}  // namespace adaptdl
