// What a replica shows to the supervisor: of which job and group it is, under the seal of a key that only
// operator and supervisor have. It is part of the address that the replica is given, so it is made of
// characters that need no escape there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace adaptdl {

// Whom a token is for.
struct ReplicaIdentity {
  std::string name_space;
  std::string job;
  std::string uid;  // Of the job: a later one of the same name is another.
  std::int64_t group = 0;

  friend bool operator==(const ReplicaIdentity&, const ReplicaIdentity&) = default;
};

// Longer ones are none of ours.
inline constexpr std::size_t kMaxTokenBytes = 256;

// Immutable and cheap to copy.
class TokenKeys {
 public:
  // One key a line, of 32 to 256 characters without spaces. The first one seals, all of them are believed,
  // so that a new one can be made known before it is used, and an old one stays as long as replicas show it.
  // Empty lines and those that begin with '#' are skipped. Errors name the line, and never a key.
  static Result<TokenKeys> Parse(std::string_view text);

  std::string Seal(const ReplicaIdentity& identity) const;

  // Whom this token is for, where it is for that job. kForbidden otherwise. The time it takes does not depend
  // on how nearly right the seal is.
  Result<ReplicaIdentity> Open(std::string_view token, const std::string& name_space,
                               const std::string& job) const;

 private:
  explicit TokenKeys(std::vector<std::string> keys)
      : keys_(std::make_shared<const std::vector<std::string>>(std::move(keys))) {}

  std::shared_ptr<const std::vector<std::string>> keys_;
};

}  // namespace adaptdl
