// What every chart needs: elements, figures in words, scales, axes, the tip beside the pointer.
// Text from the data only ever becomes the text of a node, never markup.

const kSvg = document.querySelector('svg').namespaceURI;

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(kSvg, tag), attributes, children);
const byId = (id) => document.getElementById(id);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const known = (value) => value !== null && value !== undefined;

// ---- Figures

const kUnits = [{name: 's', seconds: 1}, {name: 'min', seconds: 60}, {name: 'h', seconds: 3600}];
const kDay = {name: 'days', seconds: 86400};

// The unit in which times up to `most` seconds read well.
const unitFor = (most) => most < 120 ? kUnits[0] : most < 7200 ? kUnits[1] : kUnits[2];

const fixed = (value, digits) =>
    value.toLocaleString('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits});

// Digits after the point, so that the smallest of the values still says something.
function digitsFor(values) {
  const least = Math.min(...values.filter((value) => value > 0));
  return !isFinite(least) || least >= 100 ? 0 : least >= 10 ? 1 : least >= 0.1 ? 2 : 3;
}

function duration(seconds) {
  const unit = unitFor(seconds);
  const value = seconds / unit.seconds;
  return fixed(value, unit === kUnits[0] || value >= 100 ? 0 : value >= 10 ? 1 : 2) + ' ' + unit.name;
}

// A moment since the workload began, as on a clock: 1:05:30 h.
function moment(seconds) {
  const whole = Math.round(seconds);
  const two = (n) => String(n).padStart(2, '0');
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)} h`;
}

const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

// Cut to about that many pixels of the charts' font.
function cut(text, pixels) {
  const most = Math.max(Math.floor(pixels / 7), 2);
  const letters = Array.from(text);
  return letters.length <= most ? text : letters.slice(0, most - 1).join('') + '\u2026';
}

// ---- Scales

// Round steps 1, 2, 5, 10...: about `most` of them up to `top`, whole numbers only.
function countTicks(top, most) {
  let step = 1;
  for (let i = 0; top / step > most; ++i) step *= [2, 2.5, 2][i % 3];
  const ticks = [];
  for (let value = 0; value <= top; value += step) ticks.push(value);
  return ticks;
}

// Ticks of a stretch of time, in steps that divide minutes, hours and days.
function timeTicks(from, to, most) {
  const unit = to - from > 20 * kDay.seconds ? kDay : unitFor(to - from);
  const steps = unit === kUnits[2] ? [0.25, 0.5, 1, 2, 3, 4, 6, 12, 24, 48, 96, 240] : [1, 2, 5, 10, 15, 30, 60];
  let step = steps.find((s) => (to - from) / unit.seconds / s <= most);
  for (step = step || steps[steps.length - 1]; (to - from) / unit.seconds / step > most;) step *= 2;
  const ticks = [];
  for (let i = Math.ceil(from / unit.seconds / step - 1e-9); i * step * unit.seconds <= to + 1e-9; ++i) ticks.push(i * step);
  return {unit, ticks};
}

// Ticks of a logarithmic axis of durations.
function durationTicks(from, to) {
  const all = [[0.1, '0.1 s'], [1, '1 s'], [2, '2 s'], [5, '5 s'], [10, '10 s'], [30, '30 s'], [60, '1 min'], [120, '2 min'],
    [300, '5 min'], [600, '10 min'], [1200, '20 min'], [1800, '30 min'], [3600, '1 h'], [7200, '2 h'], [18000, '5 h'],
    [36000, '10 h'], [86400, '1 day'], [172800, '2 days'], [432000, '5 days'], [864000, '10 days'], [2592000, '30 days'],
    [8640000, '100 days'], [31536000, '1 year'], [315360000, '10 years']];
  return all.filter(([seconds]) => seconds >= from && seconds <= to);
}

// ---- Parts of a chart

const kLineDashes = [null, '7 3', '2 2.5', '9 3 2 3'];
const colourOf = (index) => 'c' + index % 8;
// Told apart without colours, too, and beyond the last colour.
const dashOf = (index) => kLineDashes[(index + Math.floor(index / 8)) % kLineDashes.length];

// An SVG as wide as its place; its text keeps its size, because it is drawn anew when the width changes.
function plot(place, height, label) {
  const width = Math.max(Math.floor(place.clientWidth), 280);
  const node = svg('svg', {class: 'plot', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label});
  place.append(node);
  return {node, width, height};
}

const text = (x, y, anchor, content, kind) => svg('text', {x, y, 'text-anchor': anchor, class: kind}, content);

// Horizontal lines with their figures at the left, and what is counted above them.
function countAxis(chart, box, top, title, format = String) {
  const y = (value) => box.bottom - (box.bottom - box.top) * value / top;
  const high = box.bottom - box.top;
  for (const tick of countTicks(top, Math.max(high / (high < 100 ? 22 : 27), 1))) {
    chart.node.append(svg('path', {class: 'grid', d: `M${box.left} ${y(tick)}H${box.right}`}),
                      text(box.left - 6, y(tick) + 4, 'end', format(tick)));
  }
  chart.node.append(text(0, box.top - 13, 'start', title, 'title'));
  return y;
}

function timeAxis(chart, box, range, isLabelled) {
  const x = (time) => box.left + (box.right - box.left) * (time - range[0]) / (range[1] - range[0]);
  const {unit, ticks} = timeTicks(range[0], range[1], (box.right - box.left) / 42);
  for (const tick of ticks) {
    const at = x(tick * unit.seconds);
    chart.node.append(svg('path', {class: 'grid', d: `M${at} ${box.top}V${box.bottom}`}));
    if (isLabelled) chart.node.append(text(at, box.bottom + 16, 'middle', String(tick)));
  }
  chart.node.append(svg('path', {class: 'axis', d: `M${box.left} ${box.bottom}H${box.right}`}));
  if (isLabelled) {
    chart.node.append(text((box.left + box.right) / 2, box.bottom + 34, 'middle',
                           `time since the workload began (${unit.name})`, 'title'));
  }
  return x;
}

// A line's or an area's key in a legend.
function key(content, shape) {
  return html('span', {class: 'key'}, svg('svg', {width: 22, height: 12, 'aria-hidden': true}, shape), content);
}
const lineKey = (index) =>
    svg('path', {class: `line ${colourOf(index)}`, d: 'M0 6H22', 'stroke-dasharray': dashOf(index)});
const areaKey = (kind, top = 1, height = 10) => svg('rect', {class: kind, x: 0, y: top, width: 22, height});

// ---- The tip

function showTip(event, lines) {
  const tip = byId('tip');
  tip.textContent = lines.join('\n');
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  tip.style.left = clamp(event.clientX + 14, 0, Math.max(innerWidth - width - 8, 0)) + 'px';
  tip.style.top = (event.clientY + 18 + height > innerHeight ? Math.max(event.clientY - height - 10, 0) : event.clientY + 18) + 'px';
}
const hideTip = () => { byId('tip').hidden = true; };

// Calls `describe` with the pointer's place in the chart's own units; it returns the lines of the tip, or null.
function onPoint(chart, describe, leave) {
  chart.node.addEventListener('pointermove', (event) => {
    const place = chart.node.getBoundingClientRect();
    const scale = chart.width / place.width;
    const lines = describe((event.clientX - place.left) * scale, (event.clientY - place.top) * scale);
    if (lines) showTip(event, lines); else { hideTip(); leave(); }
  });
  chart.node.addEventListener('pointerleave', () => { hideTip(); leave(); });
}

// Dragging with a mouse across a chart over time chooses a stretch of it. A finger scrolls the page.
function onDrag(chart, box, range, choose) {
  const timeAt = (event) => {
    const place = chart.node.getBoundingClientRect();
    const x = (event.clientX - place.left) * chart.width / place.width;
    return range[0] + (range[1] - range[0]) * clamp((x - box.left) / (box.right - box.left), 0, 1);
  };
  const x = (time) => box.left + (box.right - box.left) * (time - range[0]) / (range[1] - range[0]);
  const mark = svg('rect', {class: 'drag', y: box.top, height: box.bottom - box.top, width: 0});
  chart.node.append(mark);
  let from = null;
  const stretch = (event) => [from, timeAt(event)].sort((a, b) => a - b);
  chart.node.addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'mouse' || event.button !== 0) return;
    from = timeAt(event);
    chart.node.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  chart.node.addEventListener('pointermove', (event) => {
    if (from === null) return;
    const [low, high] = stretch(event);
    fill(mark, {x: x(low), width: x(high) - x(low)}, []);
  });
  chart.node.addEventListener('pointercancel', () => { from = null; mark.setAttribute('width', 0); });
  chart.node.addEventListener('pointerup', (event) => {
    if (from === null) return;
    const [low, high] = stretch(event);
    from = null;
    mark.setAttribute('width', 0);
    if (x(high) - x(low) > 5) choose([low, high]);
  });
}
