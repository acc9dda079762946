#include "runtime/work_queue.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cluster/sim/virtual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {

void PrintTo(const Key& key, std::ostream* os) { *os << ToString(key); }

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Optional;

const Key kA{"ns", "a"};
const Key kB{"ns", "b"};
const Key kC{"ns", "c"};

class WorkQueueTest : public ::testing::Test {
 protected:
  // Takes and finishes until nothing is left.
  std::vector<std::string> TakeAll() {
    std::vector<std::string> all;
    while (const auto key = queue_.Take()) {
      all.push_back(ToString(*key));
      queue_.Finish(*key);
    }
    return all;
  }

  VirtualClock clock_;
  int ready_ = 0;
  WorkQueue queue_{clock_, {.first = milliseconds(100), .max = seconds(30)}, 1, [this] { ++ready_; }};
};

TEST_F(WorkQueueTest, FirstComeFirstServedAndEachOnce) {
  for (const Key& key : {kB, kA, kB, kC, kA}) queue_.Add(key);
  EXPECT_EQ(queue_.depth(), 3u);
  EXPECT_EQ(ready_, 3);
  EXPECT_THAT(TakeAll(), ElementsAre("ns/b", "ns/a", "ns/c"));
  EXPECT_EQ(queue_.Take(), std::nullopt);
}

TEST_F(WorkQueueTest, WhatChangesInWorkComesOnceMoreAtTheTail) {
  queue_.Add(kA);
  ASSERT_THAT(queue_.Take(), Optional(kA));
  queue_.Add(kA);
  queue_.Add(kA);
  queue_.Add(kB);
  EXPECT_EQ(queue_.depth(), 1u);  // Not while it is in work.
  queue_.Finish(kA);
  EXPECT_THAT(TakeAll(), ElementsAre("ns/b", "ns/a"));
}

TEST_F(WorkQueueTest, AFloodInOneNamespaceDoesNotHoldUpAnother) {
  for (int i = 0; i < 1000; ++i) queue_.Add({"flood", std::to_string(i)});
  queue_.Add({"x", "1"});
  queue_.Add({"x", "2"});
  queue_.Add({"y", "1"});
  std::vector<std::string> first = TakeAll();
  ASSERT_EQ(first.size(), 1003u);
  first.resize(6);
  EXPECT_THAT(first, ElementsAre("flood/0", "x/1", "y/1", "flood/1", "x/2", "flood/2"));
}

TEST_F(WorkQueueTest, OfSeveralDelaysTheOneThatEndsFirstCounts) {
  queue_.AddAfter(kA, seconds(5));
  queue_.AddAfter(kA, seconds(2));
  queue_.AddAfter(kA, seconds(9));
  clock_.RunFor(milliseconds(1999));
  EXPECT_EQ(queue_.depth(), 0u);
  clock_.RunFor(milliseconds(1));
  EXPECT_THAT(TakeAll(), ElementsAre("ns/a"));
  clock_.RunFor(seconds(60));
  EXPECT_EQ(queue_.depth(), 0u);
  queue_.AddAfter(kB, seconds(0));
  EXPECT_THAT(TakeAll(), ElementsAre("ns/b"));
}

TEST_F(WorkQueueTest, ADelayThatEndsInWorkIsNotLost) {
  queue_.Add(kA);
  ASSERT_THAT(queue_.Take(), Optional(kA));
  queue_.AddAfter(kA, seconds(1));
  clock_.RunFor(seconds(2));
  EXPECT_EQ(queue_.depth(), 0u);
  queue_.Finish(kA);
  EXPECT_THAT(TakeAll(), ElementsAre("ns/a"));
}

TEST_F(WorkQueueTest, RetriesWaitLongerAndLongerUntilForgotten) {
  Duration whole = milliseconds(100);
  for (int i = 0; i < 15; ++i) {
    const Duration delay = queue_.Retry(kA);
    EXPECT_GE(delay, whole / 2);
    EXPECT_LE(delay, whole);
    whole = std::min<Duration>(2 * whole, seconds(30));
    clock_.RunFor(delay);
    EXPECT_THAT(TakeAll(), ElementsAre("ns/a")) << i;
  }
  EXPECT_LE(queue_.Retry(kB), milliseconds(100));  // Others do not suffer.
  queue_.Forget(kA);
  EXPECT_LE(queue_.Retry(kA), milliseconds(100));
}

TEST_F(WorkQueueTest, KnowsHowLongTheOldestHasWaited) {
  EXPECT_EQ(queue_.OldestWait(), Duration::zero());
  queue_.Add(kB);
  clock_.RunFor(seconds(3));
  queue_.Add(kA);
  clock_.RunFor(seconds(4));
  EXPECT_EQ(queue_.OldestWait(), seconds(7));
  ASSERT_THAT(queue_.Take(), Optional(kB));
  EXPECT_EQ(queue_.OldestWait(), seconds(4));
}

TEST_F(WorkQueueTest, ShutDownDropsWhatWaitsAndTakesNothingMore) {
  queue_.Add(kA);
  ASSERT_THAT(queue_.Take(), Optional(kA));
  queue_.Add(kA);
  queue_.Add(kB);
  queue_.AddAfter(kC, seconds(1));
  queue_.ShutDown();
  queue_.Add(kC);
  queue_.AddAfter(kC, seconds(1));
  EXPECT_EQ(queue_.Retry(kC), Duration::zero());
  clock_.RunFor(seconds(60));
  queue_.Finish(kA);
  EXPECT_EQ(queue_.Take(), std::nullopt);
  EXPECT_EQ(queue_.working(), 0u);
}

// Whatever happens: no key in work twice, no addition without a look after it, and nobody passed over by more
// than a turn of each namespace for each that was before it in its own.
RC_GTEST_PROP(WorkQueueProperty, NothingIsLostDoubledOrPassedOver, (std::uint64_t seed)) {
  VirtualClock clock;
  WorkQueue queue(clock, {}, seed);
  std::set<Key> working;
  std::map<Key, bool> owed;  // Added since it was last taken.
  struct Wait {
    std::size_t ahead;
    int taken = 0;
  };
  std::map<Key, Wait> waits;
  const auto begins_to_wait = [&](const Key& key) {
    std::size_t ahead = 0;
    for (const auto& [other, wait] : waits) ahead += other.name_space == key.name_space ? 1 : 0;
    waits.emplace(key, Wait{ahead});
  };
  const auto step = [&](int what, const Key& key) {
    switch (what) {
      case 0:
        queue.Add(key);
        owed[key] = true;
        if (!working.contains(key)) begins_to_wait(key);
        break;
      case 1:
        if (const auto taken = queue.Take()) {
          RC_ASSERT(working.insert(*taken).second);
          RC_ASSERT(owed[*taken]);
          owed[*taken] = false;
          RC_ASSERT(static_cast<std::size_t>(waits.at(*taken).taken) <= (waits.at(*taken).ahead + 1) * 3);
          waits.erase(*taken);
          for (auto& [other, wait] : waits) ++wait.taken;
        } else {
          for (const auto& [other, due] : owed) RC_ASSERT(!due || working.contains(other));
        }
        break;
      default:
        if (working.erase(key) > 0) {
          queue.Finish(key);
          if (owed[key]) begins_to_wait(key);
        }
    }
  };
  const auto any_key = [] {
    return Key{*rc::gen::element<std::string>("x", "y", "z"),
               *rc::gen::element<std::string>("1", "2", "3", "4")};
  };
  const int steps = *rc::gen::inRange(0, 200);
  for (int i = 0; i < steps; ++i) step(*rc::gen::inRange(0, 3), any_key());
  for (const Key& key : std::set<Key>(working)) step(2, key);
  while (queue.depth() > 0) {
    step(1, {});
    for (const Key& key : std::set<Key>(working)) step(2, key);
  }
  for (const auto& [key, due] : owed) RC_ASSERT(!due);
}

}  // namespace
}  // namespace adaptdl
