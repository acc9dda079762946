// A small plot for the terminal: one or two series over a common x axis, in braille dots or plain ASCII.
//
//   Speedup of resnet18
//   ── model  ● measured
//     8 ┤                            ⣀⣀⡠⠤⠒
//       │               ⢀⣀⠤⠤⠒⠊⠉●⠉
//     4 ┤       ⢀●⠤⠒⠉⠁
//       │   ⢀⠔⠁
//     0 ┤
//       └┬──────────┬──────────┬──────────┬
//        0          5          10         15
//                     replicas
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/terminal.h"

namespace adaptdl {

struct PlotPoint {
  double x = 0;
  double y = 0;
};

struct PlotSeries {
  enum class Mark { kLine, kPoints };  // A line joins the points in their order.

  std::string name;               // For the legend; left out there when empty.
  std::vector<PlotPoint> points;  // What is not finite is skipped.
  Mark mark = Mark::kLine;
};

struct Plot {
  std::string title;
  std::string x_label;
  std::vector<PlotSeries> series;  // Drawn one over the other; more than two are hard to tell apart.
  std::size_t width = 72;          // Of the whole, in columns; no more than the terminal has.
  std::size_t height = 16;         // Of the part with the points, in lines.
};

// Several lines, each without trailing spaces and ending with a line break.
std::string Render(const Plot& plot, const Terminal& terminal);

}  // namespace adaptdl
