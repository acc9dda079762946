#include "runtime/http_places.h"

namespace adaptdl {

std::optional<HttpPlaces::Place> HttpPlaces::Take(const std::string& peer) {
  const auto at = peers_.find(peer);
  Count own = at == peers_.end() ? Count{} : at->second;
  for (const Place place : {Place::kServed, Place::kRefused}) {
    if (all_.of(place) >= limit_) continue;
    if (limit_of_each_ > 0 && own.of(place) >= limit_of_each_) continue;
    ++all_.of(place);
    ++peers_[peer].of(place);
    return place;
  }
  return std::nullopt;
}

void HttpPlaces::Leave(const std::string& peer, Place place) {
  --all_.of(place);
  const auto at = peers_.find(peer);
  --at->second.of(place);
  if (at->second.served == 0 && at->second.refused == 0) peers_.erase(at);
}

}  // namespace adaptdl
