// The body of a watch: whatever comes, and however it is cut, gives the same events, at most one error, and
// that at the end.
#include <algorithm>

#include "cluster/kube/watch_decoder.h"
#include "tests/fuzz/check.h"

namespace adaptdl {
namespace {

// What can be compared of an event.
std::string Shown(const Result<WatchEvent>& event) {
  if (!event) return std::string(ToString(event.error().code)) + event.error().message;
  return std::to_string(static_cast<int>(event->type)) + event->resource_version +
         (event->object ? ToString(KeyOf(MetadataOf(*event->object))) : "");
}

std::vector<std::string> Decode(std::string_view text, std::size_t piece) {
  constexpr std::size_t kMaxLine = 2000;
  WatchDecoder decoder(Kind::kPod, "watch", kMaxLine);
  std::vector<std::string> seen;
  bool ended = false;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    for (const Result<WatchEvent>& event : decoder.Feed(text.substr(0, piece))) {
      Check(!ended, "nothing comes after an error");
      ended = !event;
      if (event) {
        Check(!event->resource_version.empty(), "a watch can go on after any event");
        Check(event->object.has_value() == (event->type != WatchEvent::Type::kBookmark), "objects are there");
      } else {
        Check(event.error().message == Printable(event.error().message, 100000),
              "messages are safe to print");
      }
      seen.push_back(Shown(event));
    }
  }
  Check(decoder.End().retryable, "an end is nothing to give up for");
  return seen;
}

}  // namespace
}  // namespace adaptdl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const auto whole = Decode(AsText(data, size), size + 1);
  Check(whole == Decode(AsText(data, size), 1), "pieces do not matter");
  Check(whole == Decode(AsText(data, size), 7), "pieces do not matter");
  return 0;
}
