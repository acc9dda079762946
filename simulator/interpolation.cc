#include "simulator/interpolation.h"

#include <libqhull_r/qhull_ra.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace adaptdl {
namespace {

using Vector = std::array<double, 3>;
using Corners = std::array<std::uint32_t, 4>;

constexpr double kInside = -1e-9;  // A weight that rounding made negative.
constexpr double kFlat =
    1e-12;  // A volume that is nothing but rounding, relative to the terms it is the sum of.

Vector operator-(const Vector& a, const Vector& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
double Dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector Cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// One run of Qhull and the memory that it holds.
class Qhull {
 public:
  Qhull() { qh_zero(&qh_, nullptr); }
  ~Qhull() {
    qh_freeqhull(&qh_, !qh_ALL);
    int blocks = 0;
    int bytes = 0;
    qh_memfreeshort(&qh_, &blocks, &bytes);
  }
  Qhull(const Qhull&) = delete;
  Qhull& operator=(const Qhull&) = delete;

  // `coordinates` stays alive as long as this.
  bool Triangulate(std::vector<double>* coordinates) {
    std::string command = "qhull d Qt Qbb Qc Qz Q12";
    return messages_ &&
           qh_new_qhull(&qh_, 3, static_cast<int>(coordinates->size() / 3), coordinates->data(),
                        /*ismalloc=*/False, command.data(), /*outfile=*/nullptr, messages_.get()) == 0;
  }

  std::vector<Corners> Simplices() {
    std::vector<Corners> simplices;
    for (const facetT* facet = qh_.facet_list; facet != nullptr && facet->next != nullptr;
         facet = facet->next) {
      if (facet->upperdelaunay || qh_setsize(&qh_, facet->vertices) != 4) continue;
      Corners& corners = simplices.emplace_back();
      for (int i = 0; i < 4; ++i) {
        auto* vertex = static_cast<vertexT*>(facet->vertices->e[i].p);
        corners[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(qh_pointid(&qh_, vertex->point));
      }
    }
    return simplices;
  }

 private:
  // Qhull explains its failures at length; the caller says what was wrong in one line.
  std::unique_ptr<std::FILE, CloseFile> messages_{std::fopen("/dev/null", "w")};
  qhT qh_ = {};
};

// Weights of the corners a, b, c that make up the point of the triangle that is nearest to p: by the region
// around the triangle in which p lies.
Vector NearestInTriangle(const Vector& p, const Vector& a, const Vector& b, const Vector& c) {
  const Vector ab = b - a;
  const Vector ac = c - a;
  const double ab_a = Dot(ab, p - a);
  const double ac_a = Dot(ac, p - a);
  if (ab_a <= 0 && ac_a <= 0) return {1, 0, 0};
  const double ab_b = Dot(ab, p - b);
  const double ac_b = Dot(ac, p - b);
  if (ab_b >= 0 && ac_b <= ab_b) return {0, 1, 0};
  const double ab_c = Dot(ab, p - c);
  const double ac_c = Dot(ac, p - c);
  if (ac_c >= 0 && ab_c <= ac_c) return {0, 0, 1};
  const double beyond_ab = ab_a * ac_b - ab_b * ac_a;
  if (beyond_ab <= 0 && ab_a >= 0 && ab_b <= 0) {
    const double t = ab_a / (ab_a - ab_b);
    return {1 - t, t, 0};
  }
  const double beyond_ac = ab_c * ac_a - ab_a * ac_c;
  if (beyond_ac <= 0 && ac_a >= 0 && ac_c <= 0) {
    const double t = ac_a / (ac_a - ac_c);
    return {1 - t, 0, t};
  }
  const double beyond_bc = ab_b * ac_c - ab_c * ac_b;
  if (beyond_bc <= 0 && ac_b >= ab_b && ab_c >= ac_c) {
    const double t = (ac_b - ab_b) / ((ac_b - ab_b) + (ab_c - ac_c));
    return {0, 1 - t, t};
  }
  const double sum = beyond_ab + beyond_ac + beyond_bc;
  return {beyond_bc / sum, beyond_ac / sum, beyond_ab / sum};
}

// With corners on whole numbers the smallest square of an area is 1; a sliver between them is far above this.
bool HasArea(const Vector& a, const Vector& b, const Vector& c) {
  const Vector normal = Cross(b - a, c - a);
  return Dot(normal, normal) > 1e-20 * Dot(b - a, b - a) * Dot(c - a, c - a);
}

}  // namespace

Result<StepInterpolation> StepInterpolation::Create(std::vector<MeasuredStep> points) {
  std::vector<double> coordinates;
  coordinates.reserve(points.size() * 3);
  for (const MeasuredStep& point : points) {
    for (const double value : point.at) {
      if (!std::isfinite(value)) return Invalid("a measured point is not finite");
      coordinates.push_back(value);
    }
  }
  constexpr std::size_t kMost = 1'000'000;  // Far above any trace, and an int for Qhull.
  if (points.size() > kMost) return Invalid("more than a million measured points");
  Qhull qhull;
  // Four points make the first simplex; Qhull takes fewer for a mistake of the caller.
  if (points.size() < 4 || !qhull.Triangulate(&coordinates)) {
    return Invalid("the measured (nodes, replicas, local_bsz) do not span a volume to interpolate in");
  }
  StepInterpolation made;
  made.points_ = std::move(points);
  const std::vector<Corners> simplices = qhull.Simplices();
  for (const Corners& corners : simplices) made.AddSimplex(corners);
  made.FindSurface(simplices);
  if (made.simplices_.empty() || made.surface_.empty()) return Invalid("the measured points lie in a plane");
  made.FillCells();
  return made;
}

void StepInterpolation::AddSimplex(const Corners& corners) {
  const Vector& last = points_[corners[3]].at;
  const Vector a = points_[corners[0]].at - last;
  const Vector b = points_[corners[1]].at - last;
  const Vector c = points_[corners[2]].at - last;
  const Vector bc = Cross(b, c);
  const Vector ca = Cross(c, a);
  const Vector ab = Cross(a, b);
  const double volume = Dot(a, bc);
  const double terms = std::abs(a[0] * bc[0]) + std::abs(a[1] * bc[1]) + std::abs(a[2] * bc[2]);
  if (std::abs(volume) <= kFlat * terms) return;  // Of points on one sphere some fall into a plane.
  const auto scaled = [volume](const Vector& v) {
    return Vector{v[0] / volume, v[1] / volume, v[2] / volume};
  };
  simplices_.push_back({corners, {scaled(bc), scaled(ca), scaled(ab)}});
}

void StepInterpolation::FindSurface(std::span<const Corners> simplices) {
  std::map<Triangle, int> faces;  // Those inside belong to two simplices.
  for (const Corners& corners : simplices) {
    for (std::size_t without = 0; without < 4; ++without) {
      Triangle face = {};
      for (std::size_t i = 0; i < 3; ++i) face[i] = corners[i < without ? i : i + 1];
      std::sort(face.begin(), face.end());
      ++faces[face];
    }
  }
  for (const auto& [face, count] : faces) {
    if (count == 1 && HasArea(points_[face[0]].at, points_[face[1]].at, points_[face[2]].at))
      surface_.push_back(face);
  }
}

void StepInterpolation::FillCells() {
  low_ = high_ = points_.front().at;
  for (const MeasuredStep& point : points_) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low_[axis] = std::min(low_[axis], point.at[axis]);
      high_[axis] = std::max(high_[axis], point.at[axis]);
    }
  }
  cells_.resize(kCells * kCells);
  for (std::uint32_t index = 0; index < simplices_.size(); ++index) {
    std::array<std::size_t, 2> first = {kCells, kCells};
    std::array<std::size_t, 2> last = {0, 0};
    for (const std::uint32_t corner : simplices_[index].corners) {
      for (std::size_t axis = 0; axis < 2; ++axis) {
        first[axis] = std::min(first[axis], Cell(axis, points_[corner].at[axis]));
        last[axis] = std::max(last[axis], Cell(axis, points_[corner].at[axis]));
      }
    }
    for (std::size_t x = first[0]; x <= last[0]; ++x) {
      for (std::size_t y = first[1]; y <= last[1]; ++y) cells_[x * kCells + y].push_back(index);
    }
  }
}

std::size_t StepInterpolation::Cell(std::size_t axis, double value) const {
  const double share = (value - low_[axis]) / (high_[axis] - low_[axis]);
  return static_cast<std::size_t>(std::clamp(share * kCells, 0.0, static_cast<double>(kCells - 1)));
}

StepTime StepInterpolation::At(const Vector& at) const {
  for (const std::uint32_t index : cells_[Cell(0, at[0]) * kCells + Cell(1, at[1])]) {
    const Simplex& simplex = simplices_[index];
    const Vector offset = at - points_[simplex.corners[3]].at;
    std::array<double, 4> weights = {};
    for (std::size_t i = 0; i < 3; ++i) weights[i] = Dot(simplex.to_weights[i], offset);
    weights[3] = 1 - weights[0] - weights[1] - weights[2];
    if (*std::min_element(weights.begin(), weights.end()) < kInside) continue;
    StepTime time;
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const double weight = std::max(weights[i], 0.0);
      const StepTime& corner = points_[simplex.corners[i]].time;
      time.step += weight * corner.step;
      time.sync += weight * corner.sync;
      sum += weight;
    }
    return {time.step / sum, time.sync / sum};
  }
  return Nearest(at);
}

StepTime StepInterpolation::Nearest(const Vector& at) const {
  double least = std::numeric_limits<double>::infinity();
  StepTime best;
  for (const Triangle& face : surface_) {
    const MeasuredStep& a = points_[face[0]];
    const MeasuredStep& b = points_[face[1]];
    const MeasuredStep& c = points_[face[2]];
    const Vector w = NearestInTriangle(at, a.at, b.at, c.at);
    Vector offset = at;
    for (std::size_t i = 0; i < 3; ++i) offset[i] -= w[0] * a.at[i] + w[1] * b.at[i] + w[2] * c.at[i];
    const double distance = Dot(offset, offset);
    if (distance >= least) continue;
    least = distance;
    best = {w[0] * a.time.step + w[1] * b.time.step + w[2] * c.time.step,
            w[0] * a.time.sync + w[1] * b.time.sync + w[2] * c.time.sync};
  }
  return best;
}

}  // namespace adaptdl
