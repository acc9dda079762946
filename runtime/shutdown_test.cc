#include "runtime/shutdown.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <future>
#include <thread>

#include "gtest/gtest.h"

namespace adaptdl {
namespace {

constexpr std::chrono::hours kLong{1};

// To the whole process, as Kubernetes and terminals do it.
void Signal(int number) { kill(getpid(), number); }

// Everything runs in a process of its own, as signals and what is blocked are the process's.
class ThreadsShutdownDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void Exit(bool well) { _exit(well ? 0 : 1); }

TEST_F(ThreadsShutdownDeathTest, SignalLeadsToACleanStop) {
  for (const int number : {SIGTERM, SIGINT}) {
    const auto run = [number] {
      Shutdown shutdown(kLong);
      EventLoop loop;
      const auto here = std::this_thread::get_id();
      bool on_loop = false;
      loop.Post([&] { Signal(number); });
      const int seen = shutdown.RunUntilSignal(loop, [&](const std::function<void()>& done) {
        on_loop = std::this_thread::get_id() == here;
        std::thread(done).join();
      });
      Exit(on_loop && seen == number);
    };
    EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
  }
}

TEST_F(ThreadsShutdownDeathTest, SignalBeforeTheLoopRunsIsNotLost) {
  const auto run = [] {
    Shutdown shutdown(kLong);
    Signal(SIGTERM);
    EventLoop loop;
    Exit(shutdown.RunUntilSignal(loop, [](const std::function<void()>& done) { done(); }) == SIGTERM);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST_F(ThreadsShutdownDeathTest, WithoutASignalTheLoopEndsAsEver) {
  const auto run = [] {
    EventLoop loop;
    {
      Shutdown shutdown(kLong);
      loop.Post([&] { loop.Stop(); });
      if (shutdown.RunUntilSignal(loop, [](const std::function<void()>&) { Exit(false); }) != 0) Exit(false);
    }
    Signal(SIGTERM);  // Nobody is interested any more.
    Exit(true);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST_F(ThreadsShutdownDeathTest, SecondSignalEndsTheProgramAtOnce) {
  const auto run = [] {
    Shutdown shutdown(kLong);
    EventLoop loop;
    loop.Post([] { Signal(SIGTERM); });
    shutdown.RunUntilSignal(loop, [](const std::function<void()>&) {
      Signal(SIGINT);
      std::promise<void>().get_future().wait();  // For ever: the loop is stuck.
    });
    Exit(false);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(128 + SIGINT), "");
}

TEST_F(ThreadsShutdownDeathTest, AStopThatTakesTooLongEndsTheProgram) {
  const auto run = [] {
    Shutdown shutdown(std::chrono::milliseconds(1));
    EventLoop loop;
    loop.Post([] { Signal(SIGTERM); });
    shutdown.RunUntilSignal(loop, [](const std::function<void()>&) {});
    Exit(false);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST_F(ThreadsShutdownDeathTest, WritingToAClosedConnectionIsNoEnd) {
  const auto run = [] {
    const Shutdown shutdown(kLong);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) Exit(false);
    close(pair[1]);
    Exit(write(pair[0], "x", 1) == -1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace adaptdl
