// Snapshots: whatever is taken is read back as it was written.
#include "api/json.h"
#include "api/snapshot.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const Result<Snapshot> snapshot = ParseSnapshot(AsText(data, size));
  if (!snapshot) return 0;
  const Result<Snapshot> again = ParseSnapshot(ToText(Encode(*snapshot)));
  Check(again.has_value() && *again == *snapshot, "a snapshot is read as it was written");
  for (const auto& [name, node] : snapshot->nodes) {
    for (const auto& [resource, amount] : node.resources) Check(amount >= 0, "amounts are not negative");
  }
  return 0;
}
