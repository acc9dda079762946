// Numbers as people read them.
#pragma once

#include <string>

namespace adaptdl {

// `digits` significant ones, without an exponent where that stays short: 1234, 5.68, 0.00568, 1e-08.
std::string Short(double value, int digits = 3);

// A ratio as per cent with a sign: +3.2 %, -0.0 % is 0.0 %.
std::string SignedPercent(double ratio);

}  // namespace adaptdl
