#include "supervisor/request.h"

#include <charconv>
#include <string>

#include "api/metadata.h"
#include "api/model.h"

namespace adaptdl {

namespace {

// As it is found in `field`.
tl::unexpected<Error> IsNot(const char* field, std::string_view found, const std::string& what) {
  return Invalid(std::string(field) + ": '" + Printable(found, 80) + "' is not " + what);
}

tl::unexpected<Error> IsNoGroup(std::string_view found) {
  return IsNot("group", found, "a whole number from 0 to " + std::to_string(kMaxSize));
}

}  // namespace

Result<Key> ParseJobKey(std::string_view name_space, std::string_view job) {
  if (!IsJobName(name_space) || name_space.find('.') != std::string_view::npos) {
    return IsNot("namespace", name_space, "a DNS-1123 label of at most 63 characters");
  }
  if (!IsJobName(job)) return IsNot("job", job, "a DNS-1123 name of at most 63 characters");
  return Key{std::string(name_space), std::string(job)};
}

Result<std::int64_t> CheckGroup(std::int64_t group) {
  if (group < 0 || group > kMaxSize) return IsNoGroup(std::to_string(group));
  return group;
}

Result<std::int64_t> ParseGroup(std::string_view text) {
  std::int64_t group = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), group);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || std::to_string(group) != text) return IsNoGroup(text);
  return CheckGroup(group);
}

}  // namespace adaptdl
