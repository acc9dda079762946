#include "goodput/speedup.h"

#include "gtest/gtest.h"

namespace adaptdl {
namespace {

constexpr PerfParams kPerf = {0.121, 0.00568, 0.0236, 0.00634, 0.0118, 0.00317, 1.14};
constexpr BatchLimits kLimits = {.max_batch_size = 1280, .min_local_bsz = 64, .max_local_bsz = 256};

GoodputModel Model() { return GoodputModel::Create(kPerf, {0.00136, 0.000502}, 128).value(); }

TEST(SpeedupTable, EveryEntryIsTheRatioOfBestGoodputs) {
  const auto table = SpeedupTable::Build(Model(), kLimits, 64).value();
  const double base = Model().Best({1, 1}, kLimits)->goodput;
  EXPECT_EQ(table.max_replicas(), 64);
  EXPECT_EQ(table(0, 0), 0);
  for (std::int64_t replicas = 1; replicas <= 64; ++replicas) {
    for (std::int64_t nodes = 1; nodes <= replicas; ++nodes) {
      EXPECT_DOUBLE_EQ(table(nodes, replicas), Model().Best({nodes, replicas}, kLimits)->goodput / base);
    }
  }
}

TEST(SpeedupTable, ChecksArgumentsFromOutside) {
  const auto table = SpeedupTable::Build(Model(), kLimits, 8).value();
  for (const auto& [nodes, replicas] :
       std::vector<std::pair<int, int>>{{0, 1}, {1, 0}, {2, 1}, {-1, 2}, {1, 9}}) {
    EXPECT_FALSE(table.At(nodes, replicas)) << nodes << " nodes, " << replicas << " replicas";
  }
  EXPECT_EQ(table.At(0, 0), 0);
  EXPECT_EQ(table.At(1, 1), 1);
  EXPECT_EQ(table.At(2, 8), table(2, 8));
}

TEST(SpeedupTable, WithoutParametersSpeedupIsTheNumberOfReplicas) {
  const SpeedupTable table = SpeedupTable::Linear(5);
  EXPECT_EQ(table(0, 0), 0);
  EXPECT_EQ(table(1, 1), 1);
  EXPECT_EQ(table(1, 5), 5);
  EXPECT_EQ(table(3, 5), 5);
}

TEST(SpeedupTable, RefusesAJobThatCannotRunOnOneReplica) {
  BatchLimits limits = kLimits;
  limits.max_local_bsz = 100;
  EXPECT_FALSE(SpeedupTable::Build(Model(), limits, 8));
  EXPECT_FALSE(SpeedupTable::Build(Model(), kLimits, 0));
  limits.gradient_accumulation = true;
  EXPECT_TRUE(SpeedupTable::Build(Model(), limits, 8));
}

}  // namespace
}  // namespace adaptdl
