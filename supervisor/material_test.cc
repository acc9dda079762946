#include "supervisor/material.h"

#include "api/generators.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

Hints Typical() {
  Hints hints;
  hints.init_batch_size = 128;
  hints.max_batch_size = 4096;
  hints.max_local_bsz = 256;
  hints.max_profiled_replicas = 4;
  hints.gradient_accumulation = true;
  hints.grad_params = GradParams{0.01, 2};
  hints.perf_params = PerfParams{0.02, 0.0006, 0.04, 0.0008, 0.005, 0.0005, 1.4};
  hints.progress = 5000;
  hints.total_progress = 20000;
  hints.epochs = 90;
  hints.finished_epochs = 22;
  hints.checkpoint_seconds = 10;
  hints.restart_seconds = 30;
  hints.profile = {{1, 1, 128, 0.1, 0.11}};
  return hints;
}

TEST(Material, WhatCountsAndWhatDoesNot) {
  struct Case {
    const char* what;
    void (*change)(Hints*);
    bool material;
  };
  const Case cases[] = {
      {"nothing", [](Hints*) {}, false},
      {"a fit that moved a little", [](Hints* h) { h->perf_params->beta_c *= 1.01; }, false},
      {"one that moved much", [](Hints* h) { h->perf_params->beta_c *= 1.1; }, true},
      {"a network time next to nothing", [](Hints* h) { h->perf_params->beta_r = 0.00051; }, false},
      {"nodes that are slower to reach", [](Hints* h) { h->perf_params->alpha_n *= 2; }, true},
      {"noise that moved a little", [](Hints* h) { h->grad_params->var *= 1.005; }, false},
      {"both of its parts by the same factor",
       [](Hints* h) {
         *h->grad_params = {0.04, 8};
       },
       false},
      {"noise that moved much", [](Hints* h) { h->grad_params->var *= 3; }, true},
      {"no model any more", [](Hints* h) { h->perf_params.reset(); }, true},
      {"no noise any more", [](Hints* h) { h->grad_params.reset(); }, true},
      {"a size", [](Hints* h) { h->max_batch_size = 4097; }, true},
      {"more replicas seen", [](Hints* h) { h->max_profiled_replicas = 5; }, true},
      {"some progress", [](Hints* h) { h->progress = 5100; }, false},
      {"more of it", [](Hints* h) { h->progress = 5300; }, true},
      {"an epoch", [](Hints* h) { h->finished_epochs = 23; }, true},
      {"a longer way", [](Hints* h) { h->total_progress = 30000; }, true},
      {"a checkpoint like the last", [](Hints* h) { h->checkpoint_seconds = 10.5; }, false},
      {"a slow one", [](Hints* h) { h->checkpoint_seconds = 20; }, true},
      {"a step like the last", [](Hints* h) { h->profile[0].optim_step_time = 0.112; }, false},
      {"a slow one", [](Hints* h) { h->profile[0].optim_step_time = 0.2; }, true},
      {"another placement",
       [](Hints* h) {
         h->profile.push_back({1, 2, 128, 0.1, 0.12});
       },
       true},
  };
  for (const Case& one : cases) {
    Hints after = Typical();
    one.change(&after);
    EXPECT_EQ(ChangedMaterially(Typical(), after), one.material) << one.what;
  }
}

TEST(Material, WithoutALengthProgressIsItsOwnMeasure) {
  Hints before = Typical();
  before.total_progress.reset();
  Hints after = before;
  after.progress = 5200;
  EXPECT_FALSE(ChangedMaterially(before, after));
  after.progress = 5300;
  EXPECT_TRUE(ChangedMaterially(before, after));
}

RC_GTEST_PROP(Material, NothingIsNewInTheSame, ()) {
  const Hints hints = generate::SomeHints();
  RC_ASSERT(!ChangedMaterially(hints, hints));
}

}  // namespace
}  // namespace adaptdl
