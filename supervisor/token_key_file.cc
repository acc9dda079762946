#include "supervisor/token_key_file.h"

#include <utility>

#include "runtime/small_file.h"

namespace adaptdl {

namespace {

constexpr std::size_t kMaxBytes = 1 << 16;

Result<TokenKeys> Parse(const std::string& text, const std::string& path) {
  return TokenKeys::Parse(text).map_error([&](Error error) {
    error.message = Printable(path) + ": " + error.message;
    return error;
  });
}

}  // namespace

Result<std::unique_ptr<TokenKeyFile>> TokenKeyFile::Open(Clock& clock, const std::string& path,
                                                         Changed changed, const Logger& log) {
  Result<std::string> text = ReadSmallFile(path, kMaxBytes);
  if (!text) return tl::unexpected(text.error());
  Result<TokenKeys> keys = Parse(*text, path);
  if (!keys) return tl::unexpected(keys.error());
  return std::unique_ptr<TokenKeyFile>(
      new TokenKeyFile(clock, path, *std::move(text), *std::move(keys), std::move(changed), log));
}

TokenKeyFile::TokenKeyFile(Clock& clock, const std::string& path, std::string text, TokenKeys keys,
                           Changed changed, const Logger& log)
    : keys_(std::move(keys)),
      changed_(std::move(changed)),
      reloader_(
          clock, "token keys", std::move(text), [path] { return ReadSmallFile(path, kMaxBytes); },
          [this, path](const std::string& renewed) {
            return Parse(renewed, path).map([this](TokenKeys&& fresh) {
              keys_ = std::move(fresh);
              changed_(keys_);
            });
          },
          log) {}

}  // namespace adaptdl
