// Whether a report says anything new.
#pragma once

#include "api/hints.h"

namespace adaptdl {

// Whether the scheduler could come to another decision, or a person to another impression, with `after` in
// place of `before`. Fitted parameters are judged by what they predict, within two per cent: they never stand
// quite still, and several sets of them mean the same.
bool ChangedMaterially(const Hints& before, const Hints& after);

}  // namespace adaptdl
