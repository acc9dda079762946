// The published model, its best configurations and its speedups, vector by vector.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "goodput/model.h"
#include "goodput/speedup.h"
#include "gtest/gtest.h"
#include "tests/golden/golden.h"

namespace adaptdl {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-9;

testing::AssertionResult Near(double ours, double published) {
  if (std::abs(ours - published) <= kTolerance * std::abs(published)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << ours << " differs from the published " << published;
}

Result<GoodputModel> Model(const json& entry) {
  const json& grad = entry["grad_params"];
  return GoodputModel::Create(GoldenPerf(entry["perf_params"]), {grad[0], grad[1]}, entry["init_batch_size"]);
}

// The published functions take numbers or arrays of them: element i of either.
json At(const json& value, std::size_t i) { return value.is_array() ? value[i] : value; }
std::size_t Size(const json& value) { return value.is_array() ? value.size() : 1; }

// Compares ours(i) with the published output for every element; an entry with `error` must fail for at least
// one.
template <typename Ours, typename Compare>
void Check(const json& entry, std::size_t size, const Ours& ours, const Compare& compare) {
  bool failed = false;
  for (std::size_t i = 0; i < size; ++i) {
    const auto result = ours(i);
    if (!result) {
      failed = true;
      EXPECT_TRUE(entry.contains("error")) << result.error().message;
    } else if (!entry.contains("error")) {
      compare(i, *result);
    }
  }
  EXPECT_EQ(failed, entry.contains("error")) << "the published code refuses this: " << entry;
}

void CheckGoodput(const json& entry) {
  const json& args = entry["args"];
  const std::string op = entry["op"];
  const Result<GoodputModel> model = Model(entry);
  ASSERT_TRUE(model) << model.error().message;
  const auto placement = [&](std::size_t i) {
    return Placement{At(args["num_nodes"], i), At(args["num_replicas"], i)};
  };
  const auto compare = [&](std::size_t i, double value) {
    EXPECT_TRUE(Near(value, At(entry["out"], i))) << entry;
  };
  if (op == "efficiency") {
    Check(
        entry, Size(args["batch_size"]),
        [&](std::size_t i) { return Result<double>(model->Efficiency(At(args["batch_size"], i))); }, compare);
  } else if (op == "throughput") {
    Check(
        entry, Size(args["num_replicas"]),
        [&](std::size_t i) {
          return Result<double>(
              model->Throughput(placement(i), At(args["atomic_bsz"], i), At(args["accum_steps"], i)));
        },
        compare);
  } else if (op == "evaluate") {
    Check(
        entry, Size(args["num_replicas"]),
        [&](std::size_t i) {
          return model->Evaluate(placement(i), At(args["atomic_bsz"], i), At(args["accum_steps"], i));
        },
        compare);
  } else {
    ASSERT_EQ(op, "optimize");
    Check(
        entry, Size(args["num_replicas"]),
        [&](std::size_t i) { return model->Best(placement(i), GoldenLimits(args)); },
        [&](std::size_t i, const BatchConfig& best) {
          const json& out = entry["out"];
          EXPECT_TRUE(Near(best.goodput, At(out["goodput"], i))) << entry;
          EXPECT_EQ(best.atomic_bsz, At(out["atomic_bsz"], i)) << entry;
          EXPECT_EQ(best.accum_steps, At(out["accum_steps"], i)) << entry;
        });
  }
}

void CheckAll(const std::string& op) {
  int checked = 0;
  for (const json& entry : LoadGolden("goodput.json")) {
    if (entry["op"] != op) continue;
    CheckGoodput(entry);
    ++checked;
  }
  EXPECT_GT(checked, 0) << "no vector for " << op;
}

TEST(GoldenGoodput, Evaluate) { CheckAll("evaluate"); }
TEST(GoldenGoodput, Throughput) { CheckAll("throughput"); }
TEST(GoldenGoodput, Efficiency) { CheckAll("efficiency"); }
TEST(GoldenGoodput, BestConfiguration) { CheckAll("optimize"); }

TEST(GoldenSpeedup, Table) {
  int checked = 0;
  for (const json& entry : LoadGolden("speedup.json")) {
    const Result<GoodputModel> model = Model(entry);
    ASSERT_TRUE(model) << model.error().message;
    const std::size_t size = Size(entry["num_replicas"]);
    std::int64_t most = 1;
    for (std::size_t i = 0; i < size; ++i) {
      most = std::max(most, At(entry["num_replicas"], i).get<std::int64_t>());
    }
    const auto table = SpeedupTable::Build(*model, GoldenLimits(entry), most);
    ++checked;
    if (!table) {
      EXPECT_TRUE(entry.contains("error")) << table.error().message;
      continue;
    }
    EXPECT_TRUE(Near(table->base_goodput(), entry["base_goodput"])) << entry;
    Check(
        entry, size,
        [&](std::size_t i) { return table->At(At(entry["num_nodes"], i), At(entry["num_replicas"], i)); },
        [&](std::size_t i, double speedup) { EXPECT_TRUE(Near(speedup, At(entry["out"], i))) << entry; });
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace adaptdl
