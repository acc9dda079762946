#include "simulator/synthetic_application.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "goodput/model.h"

namespace adaptdl {
namespace {

struct Recipe {
  const char* name;
  double restart;
  int epochs;
  double data_size;
  struct {
    std::int64_t init, max, min_local, max_local;
  } batch;
  PerfParams perf;  // Of a pass (c), between nodes (n), inside one (r); gamma.
  NoiseGrowth noise;
};

// clang-format off
// The comments say how long one GPU takes at the initial batch size.
const Recipe kRecipes[] = {
    // name  restart  epochs  data size   batch: initial, most, least and most in one pass
    //     alpha_c   beta_c   alpha_n   beta_n   alpha_r   beta_r   gamma     noise: first, last
    {"recommender", 10,  10,  5'000'000,  {256,  32768,  32,  32768},   // Small: 28 min; 10 min at 32768.
        { 0.006,   0.00001,   0.018,   0.0007,   0.004,   0.0008,   1.5},   { 200,  4000}},
    {"resnet",      15,  60,     50'000,  {128,   4096,  32,   1024},   // Small: 37 min.
        { 0.030,   0.0005,    0.090,   0.0030,   0.020,   0.0040,   1.6},   { 0.5,    60}},
    {"transformer", 60,   3,     90'000,  { 16,    512,   4,     16},   // Medium: 4 h.
        { 0.150,   0.0500,    0.900,   0.0200,   0.250,   0.0500,   2.0},   {  30,   300}},
    {"speech",      30,  80,      7'200,  { 20,    640,  10,     80},   // Medium: 5 h.
        { 0.270,   0.0200,    0.270,   0.0040,   0.150,   0.0200,   1.3},   { 0.5,   100}},
    {"detector",    40,  60,     16'500,  {  8,    512,   4,      8},   // Large: 11 h.
        { 0.190,   0.0180,    0.600,   0.0150,   0.200,   0.0400,   1.8},   {  10,   200}},
    {"language",    90,  27,  1'300'000,  {200,  12800,  20,    200},   // Extra large: 60 h.
        { 0.030,   0.0060,    0.250,   0.0030,   0.080,   0.0150,   2.2},   {   5,    50}},
};
// clang-format on

// Too small to gain from a second GPU, and not made to adapt.
constexpr const char* kFixed = "recommender";

ApplicationSpec MakeSpec(const Recipe& recipe) {
  ApplicationSpec spec = {.name = recipe.name,
                          .init_batch_size = recipe.batch.init,
                          .max_batch_size = recipe.batch.max,
                          .min_local_bsz = recipe.batch.min_local,
                          .max_local_bsz = recipe.batch.max_local,
                          .epochs = recipe.epochs,
                          .data_size = recipe.data_size,
                          .restart_seconds = recipe.restart};
  if (spec.name == kFixed) {
    spec.fixed_batch_size = spec.max_batch_size;
    spec.max_replicas = 1;
  }
  return spec;
}

}  // namespace

StepTime SyntheticApplication::Step(std::span<const int> placement, std::int64_t local_bsz) const {
  const Placement at = {.nodes = static_cast<std::int64_t>(placement.size()),
                        .replicas = std::accumulate(placement.begin(), placement.end(), std::int64_t{0})};
  const double pass = AccumTime(perf_, static_cast<double>(local_bsz));
  const double step = OptimTime(perf_.gamma, pass, NetworkTime(perf_, at));
  return {.step = step, .sync = std::max(step - pass, 0.0)};
}

GradParams SyntheticApplication::Gradient(double /*batch_size*/, int epoch) const {
  const int last = spec_.epochs - 1;
  const double share = last > 0 ? static_cast<double>(std::clamp(epoch, 0, last)) / last : 0;
  return {.sqr = 1, .var = noise_.first * std::pow(noise_.last / noise_.first, share)};
}

double SyntheticApplication::Progress(int epoch) const {
  return std::clamp(epoch, 0, spec_.epochs) * spec_.data_size / static_cast<double>(spec_.init_batch_size);
}

Applications SyntheticApplications() {
  Applications applications;
  for (const Recipe& recipe : kRecipes) {
    applications.emplace(recipe.name,
                         std::make_unique<SyntheticApplication>(MakeSpec(recipe), recipe.perf, recipe.noise));
  }
  return applications;
}

}  // namespace adaptdl
