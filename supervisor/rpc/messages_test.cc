#include "supervisor/rpc/messages.h"

#include <gmock/gmock.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "adaptdl/v1/supervisor.pb.h"

namespace adaptdl {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;

v1::Hints Message(const std::string& text) {
  v1::Hints message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

TEST(RpcMessagesTest, EveryHint) {
  const Result<Hints> hints = ReadHints(Message(R"(
    init_batch_size: 128 local_bsz_bounds { min: 32 max: 256 } global_batch_size: 512 max_batch_size: 1280
    max_profiled_replicas: 4 gradient_accumulation: true grad_params { norm: 0.5 var: 2 }
    perf_params { alpha_c: 1 beta_c: 2 alpha_n: 3 beta_n: 4 alpha_r: 5 beta_r: 6 gamma: 7 }
    progress: 10.5 total_progress: 100 epochs: 9 finished_epochs: 3 checkpoint_seconds: 1.5 restart_seconds: 30
    profile { num_nodes: 1 num_replicas: 2 atomic_bsz: 64 accum_step_time: 0.1 optim_step_time: 0.2 })"));
  ASSERT_TRUE(hints) << hints.error().message;
  EXPECT_EQ(*hints, (Hints{.init_batch_size = 128,
                           .min_local_bsz = 32,
                           .max_local_bsz = 256,
                           .global_batch_size = 512,
                           .max_batch_size = 1280,
                           .max_profiled_replicas = 4,
                           .gradient_accumulation = true,
                           .grad_params = GradParams{.sqr = 0.5, .var = 2},
                           .perf_params = PerfParams{.alpha_c = 1,
                                                     .beta_c = 2,
                                                     .alpha_n = 3,
                                                     .beta_n = 4,
                                                     .alpha_r = 5,
                                                     .beta_r = 6,
                                                     .gamma = 7},
                           .progress = 10.5,
                           .total_progress = 100,
                           .epochs = 9,
                           .finished_epochs = 3,
                           .checkpoint_seconds = 1.5,
                           .restart_seconds = 30,
                           .profile = {{.num_nodes = 1,
                                        .num_replicas = 2,
                                        .atomic_bsz = 64,
                                        .accum_step_time = 0.1,
                                        .optim_step_time = 0.2}}}));
}

TEST(RpcMessagesTest, WhatIsNotSetIsNotKnown) {
  EXPECT_EQ(ReadHints({}), Hints());
  const Result<Hints> zero = ReadHints(Message("progress: 0 gradient_accumulation: false epochs: 0"));
  EXPECT_EQ(zero, (Hints{.gradient_accumulation = false, .progress = 0, .epochs = 0}));
  EXPECT_EQ(ReadHints(Message("local_bsz_bounds { max: 8 }")), Hints{.max_local_bsz = 8});
}

TEST(RpcMessagesTest, WrongHintsAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"init_batch_size: 0", "hints.initBatchSize: "},
      {"init_batch_size: 9007199254740994", "hints.initBatchSize: "},
      {"init_batch_size: 8 max_batch_size: 7", "hints.maxBatchSize: "},
      {"local_bsz_bounds { min: -1 }", "hints.localBszBounds[0]: "},
      {"local_bsz_bounds { min: 9 max: 8 }", "hints.localBszBounds: "},
      {"max_profiled_replicas: -1", "hints.maxProfiledReplicas: "},
      {"grad_params { norm: 1 }", "hints.gradParams.var: missing"},
      {"grad_params { norm: nan var: 1 }", "hints.gradParams.norm: not finite"},
      {"perf_params { alpha_c: 1 beta_c: 2 alpha_n: 3 beta_n: 4 alpha_r: 5 beta_r: 6 gamma: 11 }",
       "hints.perfParams.gamma: "},
      {"progress: -1", "hints.progress: "},
      {"total_progress: inf", "hints.totalProgress: not finite"},
      {"profile { num_nodes: 1 }", "hints.profile[0].num_replicas: missing"},
  };
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text);
    const Result<Hints> hints = ReadHints(Message(text));
    ASSERT_FALSE(hints);
    EXPECT_EQ(hints.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(hints.error().message, HasSubstr(message));
  }
  v1::Hints many;
  for (std::size_t i = 0; i <= kMaxObservations; ++i) {
    *many.add_profile() =
        Message(
            "profile { num_nodes: 1 num_replicas: 1 atomic_bsz: 1 accum_step_time: 1 optim_step_time: 1 }")
            .profile(0);
  }
  EXPECT_THAT(ReadHints(many).error().message, HasSubstr("hints.profile: "));
}

TEST(RpcMessagesTest, Timeouts) {
  const auto read = [](std::int64_t seconds, std::int32_t nanos) {
    google::protobuf::Duration message;
    message.set_seconds(seconds);
    message.set_nanos(nanos);
    return ReadTimeout(message);
  };
  EXPECT_EQ(read(0, 0), Duration::zero());
  EXPECT_EQ(read(2, 5), std::chrono::seconds(2) + std::chrono::nanoseconds(5));
  EXPECT_EQ(read(std::numeric_limits<std::int64_t>::max(), 0), std::chrono::hours(24));
  EXPECT_EQ(read(-1, 0).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read(0, -1).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(read(0, 1'000'000'000).error().code, ErrorCode::kInvalid);
}

TEST(RpcMessagesTest, Tokens) {
  EXPECT_EQ(BearerToken("Bearer v1.0.u.x"), "v1.0.u.x");
  EXPECT_EQ(BearerToken("bEARER x"), "x");
  for (const char* text : {"", "Bearer", "Bearer ", "Basic x", "v1.0.u.x"}) EXPECT_EQ(BearerToken(text), "");
}

TEST(RpcMessagesTest, Peers) {
  const std::pair<const char*, const char*> cases[] = {
      {"ipv4:127.0.0.1:123", "127.0.0.1"},
      {"ipv6:[::1]:123", "::1"},
      {"ipv6:%5Bfd00::1%5D:123", "fd00::1"},
      {"ipv6:%5bfe80::1%25eth0%5d:1", "fe80::1%eth0"},
      {"ipv4:127.0.0.1", "127.0.0.1"},
      {"ipv6:[::1", "[:"},  // Never said, and no harm.
      {"ipv6:%", "%"},
      {"unix:/run/x", "unix:/run/x"},
      {"", ""},
  };
  for (const auto& [peer, address] : cases) EXPECT_THAT(PeerAddress(peer), Eq(address)) << peer;
}

}  // namespace
}  // namespace adaptdl
