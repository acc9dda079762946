#include "cli/plot.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "runtime/result.h"

namespace adaptdl {
namespace {

// Beyond these the arithmetic of the scale would overflow or vanish.
constexpr double kLargest = 1e100;
constexpr double kSmallest = 1e-100;

bool IsDrawable(const PlotPoint& point) {
  return std::abs(point.x) <= kLargest && std::abs(point.y) <= kLargest;  // False for NaN, too.
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // A single value gets some room around it.
  void Widen() {
    const double largest = std::max(std::abs(low), std::abs(high));
    if (high - low > std::max(largest * 1e-9, kSmallest)) return;
    const double room = largest > kSmallest ? largest / 2 : 1;
    low -= room;
    high += room;
  }
  // From 0 to 1.
  double Place(double value) const { return (value - low) / (high - low); }
};

// The distance of the ticks: 1, 2 or 5 times a power of ten, so that at least `count` of them fit.
double RoundStep(const Range& range, std::size_t count) {
  const double most = (range.high - range.low) / static_cast<double>(count);
  const double power = std::pow(10.0, std::floor(std::log10(most)));
  for (const double factor : {5.0, 2.0}) {
    if (power * factor <= most * (1 + 1e-9)) return power * factor;
  }
  return power;
}

struct Axis {
  Range range;
  double step = 1;

  std::vector<double> Ticks() const {
    std::vector<double> ticks;
    const std::int64_t first = std::llround(std::ceil(range.low / step - 1e-6));
    const std::int64_t last = std::llround(std::floor(range.high / step + 1e-6));
    for (std::int64_t i = first; i <= last; ++i) ticks.push_back(static_cast<double>(i) * step);
    return ticks;
  }

  // All labels of an axis have one unit and one number of digits behind the point.
  std::string Label(double value) const {
    static constexpr std::pair<double, const char*> kUnits[] = {
        {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    const double largest = std::max(std::abs(range.low), std::abs(range.high));
    if (std::abs(value) < step / 2) value = 0;  // Never "-0".
    std::array<char, 64> buffer{};
    char* const end = buffer.data() + buffer.size();
    if (largest >= 1e15 || largest < 1e-3) {
      return {buffer.data(), std::to_chars(buffer.data(), end, value, std::chars_format::general, 4).ptr};
    }
    std::pair<double, const char*> unit = {1, ""};
    for (const auto& candidate : kUnits) {
      if (largest >= 10 * candidate.first && unit.first == 1) unit = candidate;
    }
    const double digits = std::ceil(-std::log10(step / unit.first) - 1e-9);
    const int precision = static_cast<int>(std::clamp(digits, 0.0, 9.0));
    char* const stop =
        std::to_chars(buffer.data(), end, value / unit.first, std::chars_format::fixed, precision).ptr;
    return std::string(buffer.data(), stop) + (value == 0 ? "" : unit.second);
  }
};

// The glyphs of one way of drawing. A cell holds dots_x by dots_y dots.
struct Glyphs {
  std::size_t dots_x, dots_y;
  const char *side, *tick, *corner, *bottom, *bottom_tick;
  std::array<const char*, 2> point, line;  // `line` in the legend, and for the cells where dots are none.
};
constexpr Glyphs kBraille = {2, 4, "│", "┤", "└", "─", "┬", {"●", "○"}, {"──", "╌╌"}};
constexpr Glyphs kAscii = {1, 1, "|", "+", "+", "-", "+", {"o", "x"}, {"*", "."}};
constexpr Style kColors[] = {Style::kGreen, Style::kYellow};

// Text that is styled piece by piece, and has no trailing spaces.
class Line {
 public:
  explicit Line(const Terminal& terminal) : terminal_(terminal) {}

  void Append(std::string_view text, Style style = Style::kPlain) {
    if (text.find_first_not_of(' ') == std::string_view::npos) {
      spaces_ += text.size();
      return;
    }
    if (style != style_ || spaces_ > 0) Flush();
    style_ = style;
    run_ += text;
  }
  std::string Finish() && {
    spaces_ = 0;
    Flush();
    return out_ + "\n";
  }

 private:
  void Flush() {
    out_ += Paint(terminal_, style_, run_);
    out_.append(spaces_, ' ');
    run_.clear();
    spaces_ = 0;
  }

  const Terminal& terminal_;
  std::string out_;
  std::string run_;
  std::size_t spaces_ = 0;
  Style style_ = Style::kPlain;
};

class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows, const Glyphs& glyphs)
      : glyphs_(glyphs), columns_(columns), rows_(rows), cells_(columns * rows) {}

  std::size_t Column(double place) const { return Dot(place, columns_ * glyphs_.dots_x) / glyphs_.dots_x; }
  std::size_t Row(double place) const { return Dot(1 - place, rows_ * glyphs_.dots_y) / glyphs_.dots_y; }

  void Draw(const PlotSeries& series, std::size_t index, const Range& x, const Range& y) {
    std::optional<PlotPoint> previous;  // In dots.
    std::size_t drawn = 0;
    for (const PlotPoint& point : series.points) {
      if (!IsDrawable(point)) continue;
      if (series.mark == PlotSeries::Mark::kPoints) {
        Cell& cell = At(Column(x.Place(point.x)), Row(y.Place(point.y)));
        cell.point = glyphs_.point[index];
        cell.series = index;
        continue;
      }
      const PlotPoint here = {x.Place(point.x) * static_cast<double>(columns_ * glyphs_.dots_x - 1),
                              (1 - y.Place(point.y)) * static_cast<double>(rows_ * glyphs_.dots_y - 1)};
      DrawLine(previous.value_or(here), here, index, drawn);
      previous = here;
    }
  }

  void AppendTo(Line& line, std::size_t row) const {
    for (std::size_t column = 0; column < columns_; ++column) {
      const Cell& cell = cells_[row * columns_ + column];
      line.Append(Text(cell), kColors[cell.series]);
    }
  }

 private:
  struct Cell {
    std::uint8_t dots = 0;  // As in the braille block: U+2800 plus these bits.
    std::size_t series = 0;
    const char* point = nullptr;
  };

  static std::size_t Dot(double place, std::size_t dots) {
    return static_cast<std::size_t>(std::lround(place * static_cast<double>(dots - 1)));
  }
  Cell& At(std::size_t column, std::size_t row) { return cells_[row * columns_ + column]; }

  // `drawn` counts the dots of the whole series, so that the dashes of a second line run on over its points.
  void DrawLine(PlotPoint from, PlotPoint to, std::size_t index, std::size_t& drawn) {
    static constexpr std::size_t kDash = 3;
    const std::int64_t steps =
        std::llround(std::ceil(std::max(std::abs(to.x - from.x), std::abs(to.y - from.y))));
    for (std::int64_t i = 0; i <= steps; ++i) {
      const double t = steps > 0 ? static_cast<double>(i) / static_cast<double>(steps) : 0;
      const auto x = static_cast<std::size_t>(std::lround(from.x + t * (to.x - from.x)));
      const auto y = static_cast<std::size_t>(std::lround(from.y + t * (to.y - from.y)));
      if (i > 0) ++drawn;
      const bool gap = index > 0 && glyphs_.dots_x > 1 && drawn / kDash % 2 == 1;
      if (!gap) SetDot(x, y, index);
    }
  }

  void SetDot(std::size_t x, std::size_t y, std::size_t index) {
    static constexpr std::uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    Cell& cell = At(x / glyphs_.dots_x, y / glyphs_.dots_y);
    cell.dots |= kBits[y % glyphs_.dots_y][x % glyphs_.dots_x];
    cell.series = index;
  }

  std::string Text(const Cell& cell) const {
    if (cell.point != nullptr) return cell.point;
    if (cell.dots == 0) return " ";
    if (glyphs_.dots_x == 1) return glyphs_.line[cell.series];
    return {'\xE2', static_cast<char>(0xA0 | cell.dots >> 6), static_cast<char>(0x80 | (cell.dots & 0x3F))};
  }

  const Glyphs& glyphs_;
  std::size_t columns_, rows_;
  std::vector<Cell> cells_;
};

std::string Legend(const Plot& plot, const Terminal& terminal, const Glyphs& glyphs) {
  Line line(terminal);
  bool empty = true;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    if (series.name.empty()) continue;
    if (!empty) line.Append("   ");
    line.Append(series.mark == PlotSeries::Mark::kLine ? glyphs.line[i % 2] : glyphs.point[i % 2],
                kColors[i % 2]);
    line.Append(" ");
    line.Append(Printable(series.name));
    empty = false;
  }
  return empty ? "" : std::move(line).Finish();
}

std::string Centred(std::string_view text, std::size_t start, std::size_t width) {
  const std::size_t free = width - std::min(width, DisplayWidth(text));
  return std::string(start + free / 2, ' ').append(text) + "\n";
}

// The line below the axis: each label centred under its tick, where there is room for it.
std::string TickLabels(const Axis& axis, const Canvas& canvas, std::size_t start, std::size_t columns) {
  std::string line(start, ' ');
  for (const double tick : axis.Ticks()) {
    const std::string label = axis.Label(tick);
    const std::size_t middle = start + canvas.Column(axis.range.Place(tick));
    const std::size_t wanted = middle - std::min(middle, label.size() / 2);
    const std::size_t at = std::min(wanted, start + columns - std::min(columns, label.size()));
    if (line.size() > start && at <= line.size()) continue;
    line.resize(at, ' ');
    line += label;
  }
  return line + "\n";
}

Axis VerticalAxis(Range range, std::size_t rows) {
  // Heights are compared by eye, so they start from zero unless that would flatten the curve.
  const bool positive = range.low >= 0;
  if (positive && range.low <= range.high / 2) range.low = 0;
  range.Widen();
  if (positive) range.low = std::max(range.low, 0.0);
  return {range, RoundStep(range, std::max<std::size_t>(2, rows / 5))};
}

}  // namespace

std::string Render(const Plot& plot, const Terminal& terminal) {
  const Glyphs& glyphs = terminal.unicode ? kBraille : kAscii;
  std::string out;
  if (!plot.title.empty()) out += Paint(terminal, Style::kBold, Printable(plot.title)) + "\n";

  Axis x;
  Range heights;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      if (!IsDrawable(point)) continue;
      x.range.Include(point.x);
      heights.Include(point.y);
    }
  }
  if (x.range.low > x.range.high) return out + "(no data)\n";
  out += Legend(plot, terminal, glyphs);

  const std::size_t rows = std::max<std::size_t>(plot.height, 3);
  const Axis y = VerticalAxis(heights, rows);
  std::size_t label_width = 0;
  for (const double tick : y.Ticks()) label_width = std::max(label_width, y.Label(tick).size());
  const std::size_t start = label_width + 2;  // A space and the axis.
  const std::size_t width = std::min(plot.width, terminal.width);
  const std::size_t columns = std::max<std::size_t>(width - std::min(width, start), 10);
  x.range.Widen();
  x.step = RoundStep(x.range, std::max<std::size_t>(2, columns / 14));

  Canvas canvas(columns, rows, glyphs);
  for (std::size_t i = 0; i < plot.series.size(); ++i) canvas.Draw(plot.series[i], i % 2, x.range, y.range);

  std::vector<std::string> labels(rows);
  for (const double tick : y.Ticks()) labels[canvas.Row(y.range.Place(tick))] = y.Label(tick);
  for (std::size_t row = 0; row < rows; ++row) {
    Line line(terminal);
    line.Append(std::string(label_width - labels[row].size(), ' '));
    line.Append(labels[row]);
    line.Append(" ");
    line.Append(labels[row].empty() ? glyphs.side : glyphs.tick, Style::kDim);
    canvas.AppendTo(line, row);
    out += std::move(line).Finish();
  }

  std::vector<const char*> bottom(columns, glyphs.bottom);
  for (const double tick : x.Ticks()) bottom[canvas.Column(x.range.Place(tick))] = glyphs.bottom_tick;
  Line axis(terminal);
  axis.Append(std::string(start - 1, ' '));
  axis.Append(glyphs.corner, Style::kDim);
  for (const char* piece : bottom) axis.Append(piece, Style::kDim);
  out += std::move(axis).Finish() + TickLabels(x, canvas, start, columns);
  if (!plot.x_label.empty()) out += Centred(Printable(plot.x_label), start, columns);
  return out;
}

}  // namespace adaptdl
