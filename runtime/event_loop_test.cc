#include "runtime/event_loop.h"

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::ElementsAre;

// A test that meets this limit hangs; none depends on its length.
constexpr Duration kNever = std::chrono::minutes(5);

TEST(EventLoop, NothingRunsInsideTheCall) {
  EventLoop loop;
  bool posted = false;
  bool due = false;
  loop.Post([&] { posted = true; });
  const Timer timer = loop.After(Duration(-1), [&] { due = true; });
  EXPECT_FALSE(posted || due);
  EXPECT_TRUE(loop.RunUntil([&] { return posted && due; }, kNever));
}

TEST(EventLoop, TimersRunInTheOrderInWhichTheyAreDue) {
  EventLoop loop;
  std::vector<int> order;
  const Timer third = loop.After(milliseconds(3), [&] { order.push_back(3); });
  const Timer first = loop.After(milliseconds(1), [&] { order.push_back(1); });
  const Timer second = loop.After(milliseconds(2), [&] { order.push_back(2); });
  EXPECT_TRUE(loop.RunUntil([&] { return order.size() == 3; }, kNever));
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(EventLoop, ATimerRunsNoEarlierThanAskedFor) {
  EventLoop loop;
  const Instant due = loop.Now() + milliseconds(5);
  Instant ran{};
  const Timer timer = loop.After(milliseconds(5), [&] { ran = loop.Now(); });
  EXPECT_TRUE(loop.RunUntil([&] { return ran != Instant{}; }, kNever));
  EXPECT_GE(ran, due);
}

TEST(EventLoop, ATimerThatIsGoneDoesNotRun) {
  EventLoop loop;
  bool ran = false;
  bool later = false;
  Timer timer = loop.After(milliseconds(1), [&] { ran = true; });
  const Timer last = loop.After(milliseconds(2), [&] { later = true; });
  timer.reset();
  EXPECT_TRUE(loop.RunUntil([&] { return later; }, kNever));
  EXPECT_FALSE(ran);
}

TEST(EventLoop, ATimerMayDestroyItself) {
  EventLoop loop;
  Timer timer;
  bool ran = false;
  timer = loop.After(milliseconds(1), [&, text = std::make_shared<int>(7)] {
    timer.reset();
    ran = *text == 7;
  });
  EXPECT_TRUE(loop.RunUntil([&] { return ran; }, kNever));
}

TEST(EventLoop, StoppedBeforeRunItReturnsAtOnceAndDropsWhatIsPosted) {
  EventLoop loop;
  bool ran = false;
  loop.Post([&] { ran = true; });
  loop.Stop();
  loop.Run();
  loop.Post([&] { ran = true; });
  loop.Run();
  EXPECT_FALSE(ran);
}

TEST(ThreadsEventLoop, PostsOfOneThreadArriveInTheirOrder) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 2000;
  EventLoop loop;
  std::array<std::vector<int>, kThreads> arrived;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&loop, &arrived, t] {
      for (int i = 0; i < kPosts; ++i) loop.Post([&arrived, t, i] { arrived[t].push_back(i); });
    });
  }
  std::size_t total = 0;
  EXPECT_TRUE(loop.RunUntil(
      [&] {
        total = 0;
        for (const auto& one : arrived) total += one.size();
        return total == kThreads * kPosts;
      },
      kNever));
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : arrived) {
    for (int i = 0; i < kPosts; ++i) ASSERT_EQ(one[static_cast<std::size_t>(i)], i);
  }
}

TEST(ThreadsEventLoop, APostWakesALoopThatWaitsForATimer) {
  EventLoop loop;
  const Timer far = loop.After(hours(1), [] {});
  std::atomic<bool> ran = false;
  std::thread runner([&] { loop.Run(); });
  std::thread::id where;
  loop.Post([&] {
    where = std::this_thread::get_id();
    ran = true;
    ran.notify_one();
  });
  ran.wait(false);
  EXPECT_EQ(where, runner.get_id());
  loop.Stop();
  runner.join();
}

TEST(ThreadsEventLoop, StopsFromAnotherThreadWhileManyPost) {
  EventLoop loop;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        loop.Post([] {});
        std::this_thread::yield();
      }
    });
  }
  int ran = 0;
  loop.Post([&] { ++ran; });
  std::thread stopper([&] { loop.Post([&] { std::thread([&] { loop.Stop(); }).join(); }); });
  loop.Run();
  stop = true;
  stopper.join();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace adaptdl
