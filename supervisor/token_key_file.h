// The keys of replicas' tokens, in a file that somebody may change: a mounted Secret.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/replica_token.h"
#include "cluster/clock.h"
#include "runtime/log.h"
#include "runtime/reloader.h"
#include "runtime/result.h"

namespace adaptdl {

// All on the clock's thread.
class TokenKeyFile {
 public:
  using Changed = std::function<void(const TokenKeys& keys)>;

  // Fails, with the file's name, where it cannot be read or holds something else. Later on that only means
  // that the keys before stay in use. The clock outlives it.
  static Result<std::unique_ptr<TokenKeyFile>> Open(Clock& clock, const std::string& path, Changed changed,
                                                    const Logger& log);

  // The last that were good.
  const TokenKeys& keys() const { return keys_; }

 private:
  TokenKeyFile(Clock& clock, const std::string& path, std::string text, TokenKeys keys, Changed changed,
               const Logger& log);

  TokenKeys keys_;
  const Changed changed_;
  Reloader<std::string> reloader_;
};

}  // namespace adaptdl
