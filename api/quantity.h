// An amount of a resource as Kubernetes writes it: "1500m", "0.5Gi", "129e6".
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/result.h"

namespace adaptdl {

class Reader;

// Exact to a billionth; what is finer is rounded away from zero, as Kubernetes does: whoever asks for
// something gets something. At most 2^63 - 1 in magnitude; Kubernetes lets larger decimal amounts stand until
// their value is asked for, and cuts binary ones off silently, where here both are an error at once.
class Quantity {
 public:
  Quantity() = default;

  // The grammar of resource.Quantity:
  //   [+-] digits [. digits] suffix    with digits on at least one side of the point, and the suffix one of
  //   n u m "" k M G T P E, Ki Mi Gi Ti Pi Ei, or e or E followed by a signed integer ("1E" is an exa).
  static Result<Quantity> Parse(std::string_view text);

  // Rounded away from zero. A thousandth may not fit in 64 bits.
  std::int64_t Units() const;
  Result<std::int64_t> MilliUnits() const;

  // The canonical form of Kubernetes' decimal format: an integer with the largest suffix that leaves no
  // fraction. Kubernetes would keep to binary suffixes where it read one; the value is the same.
  std::string ToString() const;

  friend bool operator==(const Quantity&, const Quantity&) = default;
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.nano_ <=> b.nano_;
  }

 private:
  __extension__ using Int128 = __int128;
  explicit Quantity(Int128 nano) : nano_(nano) {}

  Int128 nano_ = 0;
};

// Text, or a number as if its shortest decimal form had been given. Spaces around the text are ignored: the
// API server ignores them too.
void Decode(const Reader& in, Quantity* out);

}  // namespace adaptdl
