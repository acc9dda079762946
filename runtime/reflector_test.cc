#include "runtime/reflector.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/sim/virtual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Object Named(const std::string& name, const std::string& version) {
  Node node;
  node.metadata.name = name;
  node.metadata.resource_version = version;
  return node;
}

WatchEvent Event(WatchEvent::Type type, const std::string& name, const std::string& version) {
  return {.type = type, .resource_version = version, .object = Named(name, version)};
}

Error Ended() { return {ErrorCode::kUnavailable, "the stream ended", true}; }
Error Gone() { return {ErrorCode::kGone, "too old", false}; }

// Waits to be told each answer: the orders that matter here are rare in a simulated cluster, or not to be
// had.
class ScriptedCluster final : public Cluster {
 public:
  struct ListCall {
    std::size_t limit;
    std::string token;
    Done<Page> done;
  };
  struct Stream {
    std::string from;
    WatchHandler handler;
    bool open = true;
  };

  void List(const Query&, std::size_t limit, const std::string& token, Done<Page> done) override {
    lists.push_back({limit, token, std::move(done)});
  }
  std::unique_ptr<Watch> WatchFrom(const Query&, const std::string& version, WatchHandler handler) override {
    streams.push_back({version, std::move(handler)});
    return std::make_unique<ScriptedWatch>(streams.back());
  }
  void Get(const Ref&, Done<Object>) override { FAIL(); }
  void Create(Kind, const Document&, Done<Object>) override { FAIL(); }
  void Apply(const Patch&, Done<Object>) override { FAIL(); }
  void Delete(const Deletion&, Done<void>) override { FAIL(); }
  void CheckTemplate(const std::string&, const PodTemplate&, Done<void>) override { FAIL(); }

  std::deque<ListCall> lists;  // All there have been.
  std::deque<Stream> streams;

 private:
  struct ScriptedWatch final : Watch {
    explicit ScriptedWatch(Stream& one) : stream(one) {}
    ~ScriptedWatch() override { stream.open = false; }
    ScriptedWatch(const ScriptedWatch&) = delete;
    ScriptedWatch& operator=(const ScriptedWatch&) = delete;
    Stream& stream;
  };
};

class ReflectorTest : public ::testing::Test, public Reflector::Sink {
 protected:
  ReflectorTest() { reflector_->Start(); }

  void Put(Object object) override {
    const Metadata& metadata = MetadataOf(object);
    objects_[metadata.name] = metadata.resource_version;
  }
  void Remove(const Key& key) override { objects_.erase(key.name); }
  void KeepOnly(const std::set<Key>& keys) override {
    std::erase_if(objects_, [&](const auto& entry) { return !keys.contains({"", entry.first}); });
  }
  void Ready() override { ++ready_; }

  // Answers the list that is being waited for.
  void Answer(Result<Page> page) {
    ASSERT_GT(cluster_.lists.size(), answered_);
    cluster_.lists[answered_++].done(std::move(page));
  }
  void Send(Result<WatchEvent> event) {
    ASSERT_FALSE(cluster_.streams.empty());
    ASSERT_TRUE(cluster_.streams.back().open);
    cluster_.streams.back().handler(std::move(event));
  }
  // Listed a, b and c at version 10, and watching from there.
  void Begin() {
    Answer(Page{{Named("a", "3"), Named("b", "7"), Named("c", "10")}, "10", ""});
    ASSERT_EQ(cluster_.streams.size(), 1u);
  }

  VirtualClock clock_;
  ScriptedCluster cluster_;
  std::map<std::string, std::string> objects_;
  int ready_ = 0;
  std::size_t answered_ = 0;
  std::unique_ptr<Reflector> reflector_ =
      std::make_unique<Reflector>(clock_, cluster_, Query{.kind = Kind::kNode}, Reflector::Options{},
                                  Logger("test", {.sink = [](std::string_view) {}}), *this);
};

TEST(ResourceVersion, DecimalOnesCompareAsNumbersAndOthersNotAtAll) {
  EXPECT_TRUE(IsOlderVersion("9", "10"));
  EXPECT_FALSE(IsOlderVersion("10", "9"));
  EXPECT_FALSE(IsOlderVersion("10", "10"));
  EXPECT_TRUE(IsOlderVersion("99999999999999999999", "100000000000000000000"));
  for (const char* other : {"", "a", "-1", "1.5"}) {
    EXPECT_FALSE(IsOlderVersion(other, "10"));
    EXPECT_FALSE(IsOlderVersion("10", other));
  }
}

TEST_F(ReflectorTest, ListsInPagesAndWatchesFromThere) {
  EXPECT_EQ(cluster_.lists[0].limit, 500u);
  Answer(Page{{Named("a", "3"), Named("b", "7")}, "10", "more"});
  EXPECT_FALSE(reflector_->ready());
  EXPECT_EQ(cluster_.lists[1].token, "more");
  Answer(Page{{Named("c", "10")}, "10", ""});
  EXPECT_TRUE(reflector_->ready());
  EXPECT_EQ(ready_, 1);
  EXPECT_EQ(cluster_.streams[0].from, "10");
  Send(Event(WatchEvent::Type::kModified, "a", "11"));
  Send(Event(WatchEvent::Type::kDeleted, "b", "12"));
  Send(Event(WatchEvent::Type::kAdded, "d", "13"));
  EXPECT_THAT(objects_, ElementsAre(Pair("a", "11"), Pair("c", "10"), Pair("d", "13")));
  EXPECT_EQ(reflector_->stats().events, 3u);
}

TEST_F(ReflectorTest, WhenAStreamEndsItGoesOnFromWhereItWas) {
  Begin();
  Send(Event(WatchEvent::Type::kModified, "a", "11"));
  Send(WatchEvent{.type = WatchEvent::Type::kBookmark, .resource_version = "40"});
  Send(tl::unexpected(Ended()));
  EXPECT_EQ(cluster_.streams.size(), 1u);  // Not inside the call.
  clock_.RunFor(milliseconds(100));
  ASSERT_EQ(cluster_.streams.size(), 2u);
  EXPECT_FALSE(cluster_.streams[0].open);
  EXPECT_EQ(cluster_.streams[1].from, "40");
  EXPECT_EQ(cluster_.lists.size(), 1u);
  EXPECT_FALSE(reflector_->failure());  // Streams end: that is no trouble.
}

TEST_F(ReflectorTest, WhatIsGoneIsListedAgainAndComparedWithWhatWasThere) {
  Begin();
  Send(tl::unexpected(Gone()));
  clock_.RunFor(milliseconds(100));
  Answer(Page{{Named("a", "3"), Named("c", "55"), Named("d", "60")}, "70", ""});
  EXPECT_THAT(objects_, ElementsAre(Pair("a", "3"), Pair("c", "55"), Pair("d", "60")));
  EXPECT_EQ(cluster_.streams.back().from, "70");
  EXPECT_EQ(ready_, 1);
}

TEST_F(ReflectorTest, AListWhoseRestIsGoneBeginsAgain) {
  Answer(Page{{Named("a", "3")}, "10", "more"});
  Answer(tl::unexpected(Gone()));
  EXPECT_FALSE(reflector_->ready());
  clock_.RunFor(milliseconds(100));
  EXPECT_EQ(cluster_.lists[2].token, "");
  Answer(Page{{Named("b", "20")}, "20", ""});
  EXPECT_THAT(objects_, ElementsAre(Pair("b", "20")));  // Not what was on the first page back then.
}

TEST_F(ReflectorTest, ALaggingServerBringsNothingBack) {
  Begin();
  Send(Event(WatchEvent::Type::kDeleted, "b", "20"));
  Send(Event(WatchEvent::Type::kModified, "a", "21"));
  Send(tl::unexpected(Gone()));
  clock_.RunFor(milliseconds(100));
  // As it was at 15: before b was deleted and a was changed. More pages are not even asked for.
  Answer(Page{{Named("a", "3"), Named("b", "7")}, "15", "more"});
  EXPECT_THAT(objects_, ElementsAre(Pair("a", "21"), Pair("c", "10")));
  clock_.RunFor(seconds(1));
  EXPECT_EQ(cluster_.lists.back().token, "");
  Answer(Page{{Named("a", "21"), Named("c", "10")}, "22", ""});
  EXPECT_THAT(objects_, ElementsAre(Pair("a", "21"), Pair("c", "10")));
  EXPECT_EQ(cluster_.streams.back().from, "22");
  Send(Event(WatchEvent::Type::kAdded, "b", "7"));  // Nor does a stream that repeats itself.
  EXPECT_THAT(objects_, ElementsAre(Pair("a", "21"), Pair("c", "10")));
}

TEST_F(ReflectorTest, AHistoryThatWasReplacedIsTakenInTheEnd) {
  Begin();
  Send(tl::unexpected(Gone()));
  const Instant begin = clock_.Now();
  while (cluster_.streams.size() == 1) {
    ASSERT_LT(clock_.Now() - begin, minutes(6));
    if (cluster_.lists.size() > answered_) {
      const bool rest = !cluster_.lists.back().token.empty();
      Answer(Page{{Named(rest ? "b" : "a", "2")}, "2", rest ? "" : "more"});
    } else {
      clock_.RunNext();
    }
  }
  EXPECT_GE(clock_.Now() - begin, minutes(5));
  EXPECT_THAT(objects_, ElementsAre(Pair("a", "2"), Pair("b", "2")));
  EXPECT_EQ(cluster_.streams.back().from, "2");
}

TEST_F(ReflectorTest, AVersionThatCannotBeComparedIsTrusted) {
  Begin();
  Send(tl::unexpected(Gone()));
  clock_.RunFor(milliseconds(100));
  Answer(Page{{Named("a", "x1")}, "x1", ""});
  EXPECT_THAT(objects_, ElementsAre(Pair("a", "x1")));
}

TEST_F(ReflectorTest, FailuresSlowItDownAndAreTold) {
  Answer(tl::unexpected(Error{ErrorCode::kForbidden, "no", false}));
  EXPECT_FALSE(reflector_->failure());
  std::vector<Instant> tries;
  for (int i = 0; i < 14; ++i) {
    ASSERT_TRUE(clock_.RunNext());
    tries.push_back(clock_.Now());
    Answer(tl::unexpected(Error{ErrorCode::kForbidden, "no", false}));
    ASSERT_TRUE(reflector_->failure());
    EXPECT_EQ(reflector_->failure()->code, ErrorCode::kForbidden);
  }
  EXPECT_LE(tries[0] - Instant{}, milliseconds(100));
  EXPECT_GE(tries[13] - tries[12], seconds(15));
  EXPECT_LE(tries[13] - tries[12], seconds(30));
  EXPECT_EQ(reflector_->last_progress(), Instant{});
  clock_.RunNext();
  Answer(Page{{}, "1", ""});
  EXPECT_FALSE(reflector_->failure());
  EXPECT_EQ(reflector_->last_progress(), clock_.Now());
  EXPECT_EQ(reflector_->stats().failures, 15u);
}

TEST_F(ReflectorTest, AQuietStreamThatLastedIsNoFailure) {
  Begin();
  for (int i = 0; i < 10; ++i) {
    const std::size_t streams = cluster_.streams.size();
    clock_.RunFor(minutes(10));
    Send(tl::unexpected(Ended()));
    clock_.RunFor(milliseconds(100));
    ASSERT_EQ(cluster_.streams.size(), streams + 1);
  }
  EXPECT_FALSE(reflector_->failure());
  EXPECT_EQ(cluster_.lists.size(), 1u);
}

TEST_F(ReflectorTest, DestroyedItTakesNothingMore) {
  Answer(Page{{Named("a", "3")}, "10", "more"});
  reflector_.reset();
  Answer(Page{{Named("b", "3")}, "10", ""});
  EXPECT_THAT(objects_, ElementsAre(Pair("a", "3")));
  EXPECT_THAT(cluster_.streams, IsEmpty());
}

}  // namespace
}  // namespace adaptdl
