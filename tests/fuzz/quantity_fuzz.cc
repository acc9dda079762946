// Quantities: whatever is taken has a canonical text of the same value, and its roundings agree.
#include "api/quantity.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const Result<Quantity> quantity = Quantity::Parse(AsText(data, size));
  if (!quantity) return 0;
  const std::string text = quantity->ToString();
  const Result<Quantity> again = Quantity::Parse(text);
  Check(again.has_value() && *again == *quantity, "the canonical text has the same value");
  Check(again->ToString() == text, "the canonical text is canonical");
  const std::int64_t units = quantity->Units();
  Check((units < 0) == (*quantity < Quantity()) && (units > 0) == (*quantity > Quantity()),
        "rounding keeps the sign");
  const Result<Quantity> rounded = Quantity::Parse(std::to_string(units));
  Check(rounded.has_value(), "whole units are a quantity");
  Check(units < 0 ? *rounded <= *quantity : *rounded >= *quantity, "rounding leads away from zero");
  if (const Result<std::int64_t> milli = quantity->MilliUnits()) {
    const std::int64_t up = *milli / 1000 + (*milli % 1000 > 0 ? 1 : 0) - (*milli % 1000 < 0 ? 1 : 0);
    Check(up == units, "thousandths and units agree");
  }
  return 0;
}
