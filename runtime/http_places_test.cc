#include "runtime/http_places.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using Place = HttpPlaces::Place;

TEST(HttpPlaces, AClientIsRefusedWhileAnotherIsServed) {
  HttpPlaces places(3, 2);
  EXPECT_EQ(places.Take("a"), Place::kServed);
  EXPECT_EQ(places.Take("a"), Place::kServed);
  EXPECT_EQ(places.Take("a"), Place::kRefused);
  EXPECT_EQ(places.Take("b"), Place::kServed);
  EXPECT_EQ(places.Take("b"), Place::kRefused);  // All are taken.
  EXPECT_EQ(places.Take("a"), Place::kRefused);
  EXPECT_EQ(places.Take("a"), std::nullopt);  // As many refused as served.
  EXPECT_EQ(places.Take("c"), std::nullopt);
  places.Leave("a", Place::kRefused);
  places.Leave("a", Place::kServed);
  EXPECT_EQ(places.Take("a"), Place::kServed);
}

TEST(HttpPlaces, WithoutALimitOfItsOwnAClientMayHaveAll) {
  HttpPlaces places(1000, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(places.Take("a"), Place::kServed);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(places.Take("a"), Place::kRefused);
  EXPECT_EQ(places.Take("b"), std::nullopt);
}

RC_GTEST_PROP(HttpPlaces, LimitsHoldAndNothingIsKeptOfThoseWhoLeft, ()) {
  const auto all = *rc::gen::inRange<std::size_t>(0, 6);
  const auto each = *rc::gen::inRange<std::size_t>(0, 4);
  HttpPlaces places(all, each);
  std::vector<std::pair<std::string, Place>> open;
  const auto count = [&](Place place, const std::string& peer) {
    return static_cast<std::size_t>(std::count_if(open.begin(), open.end(), [&](const auto& one) {
      return one.second == place && (peer.empty() || one.first == peer);
    }));
  };
  const auto has_place = [&](Place place, const std::string& peer) {
    return count(place, "") < all && (each == 0 || count(place, peer) < each);
  };
  for (const auto step : *rc::gen::container<std::vector<unsigned>>(rc::gen::inRange(0U, 1000U))) {
    if (step % 3 == 0 && !open.empty()) {
      const auto leaves = open.begin() + step % static_cast<unsigned>(open.size());
      places.Leave(leaves->first, leaves->second);
      open.erase(leaves);
    } else {
      const std::string peer(1, "abcd"[step % 4]);
      const auto expected = has_place(Place::kServed, peer)    ? std::optional(Place::kServed)
                            : has_place(Place::kRefused, peer) ? std::optional(Place::kRefused)
                                                               : std::nullopt;
      const auto place = places.Take(peer);
      RC_ASSERT(place == expected);
      if (place) open.emplace_back(peer, *place);
    }
    std::map<std::string, int> peers;
    for (const auto& [peer, place] : open) ++peers[peer];
    RC_ASSERT(places.peers() == peers.size());
  }
}

}  // namespace
}  // namespace adaptdl
