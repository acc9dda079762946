// Step times between measured ones: piecewise linear over (nodes, replicas, local batch size), on a Delaunay
// triangulation of the measured points.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/result.h"
#include "simulator/application.h"

namespace adaptdl {

struct MeasuredStep {
  std::array<double, 3> at = {};  // Nodes, replicas, local batch size.
  StepTime time;
};

// Immutable: any number of threads may ask at once.
class StepInterpolation {
 public:
  // Invalid where the points do not span a volume. Where the triangulation is not unique, their order
  // decides.
  static Result<StepInterpolation> Create(std::vector<MeasuredStep> points);

  // A weighted mean of measured values. Outside of their hull: the value at the nearest point of it.
  [[nodiscard]] StepTime At(const std::array<double, 3>& at) const;

 private:
  using Vector = std::array<double, 3>;

  struct Simplex {
    std::array<std::uint32_t, 4> corners;
    std::array<Vector, 3> to_weights;  // Times (point - last corner): the weights of the other corners.
  };
  using Triangle = std::array<std::uint32_t, 3>;

  // Columns over nodes x replicas, so that a lookup sees a few simplices instead of thousands.
  static constexpr std::size_t kCells = 24;

  void AddSimplex(const std::array<std::uint32_t, 4>& corners);
  void FillCells();
  void FindSurface(std::span<const std::array<std::uint32_t, 4>> simplices);
  [[nodiscard]] std::size_t Cell(std::size_t axis, double value) const;
  [[nodiscard]] StepTime Nearest(const Vector& at) const;

  std::vector<MeasuredStep> points_;
  std::vector<Simplex> simplices_;
  std::vector<Triangle> surface_;
  Vector low_ = {}, high_ = {};
  std::vector<std::vector<std::uint32_t>> cells_;
};

}  // namespace adaptdl
