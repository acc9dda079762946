// The charts of what is selected, and the controls.

const state = {workload: 0, shown: new Set(data.policies.keys()), range: null, only: null, colour: 'gpus', order: 'submitted'};
const kGpuBins = [1, 2, 4, 8, 16, 32, Infinity];  // The most GPUs of each colour.

const shownResults = () => data.results.filter((r) => r.workload === state.workload && state.shown.has(r.policy))
    .sort((a, b) => a.policy - b.policy);

// ---- Completion times

function drawCompletion(results) {
  const place = document.querySelector('#completion .chart');
  place.replaceChildren(policyLegend(results, lineKey));
  const lines = results.map((r) => ({
    policy: r.policy, jobs: r.jobs.length,
    times: decode(r).jobs.map((job) => job.time).filter(known).sort((a, b) => a - b),
  })).filter((line) => line.times.length);
  if (!lines.length) return;
  const chart = plot(place, 340, 'Share of jobs that completed within a time, by policy');
  const box = {left: 46, right: chart.width - 16, top: 30, bottom: 290};
  const y = countAxis(chart, box, 100, 'jobs done', (tick) => tick + ' %');
  const low = Math.max(Math.min(...lines.map((line) => line.times[0])), 0.1) / 1.1;
  const high = Math.max(...lines.map((line) => line.times[line.times.length - 1]), 0.2) * 1.1;
  const x = (time) => box.left + (box.right - box.left) * Math.log(Math.max(time, low) / low) / Math.log(high / low);
  let free = -Infinity;
  for (const [seconds, label] of durationTicks(low, high)) {
    chart.node.append(svg('path', {class: 'grid', d: `M${x(seconds)} ${box.top}V${box.bottom}`}));
    if (x(seconds) - 24 < free || x(seconds) + 20 > chart.width) continue;
    chart.node.append(text(x(seconds), box.bottom + 16, 'middle', label));
    free = x(seconds) + 28;
  }
  chart.node.append(svg('path', {class: 'axis', d: `M${box.left} ${box.bottom}H${box.right}`}),
                    text((box.left + box.right) / 2, box.bottom + 36, 'middle', 'completion time (logarithmic)', 'title'));
  for (const line of lines) {
    let d = `M${box.left} ${y(0)}`;
    line.times.forEach((time, i) => { d += `H${x(time).toFixed(1)}V${y(100 * (i + 1) / line.jobs).toFixed(1)}`; });
    chart.node.append(svg('path', {class: `line ${colourOf(line.policy)}`, d: d + `H${box.right}`,
                                   'stroke-dasharray': dashOf(line.policy)}));
  }
  const cursor = svg('path', {class: 'cursor'});
  chart.node.append(cursor);
  onPoint(chart, (px) => {
    if (px < box.left || px > box.right) return null;
    const time = low * Math.exp((px - box.left) / (box.right - box.left) * Math.log(high / low));
    cursor.setAttribute('d', `M${px} ${box.top}V${box.bottom}`);
    return [`Done within ${duration(time)}:`, ...lines.map((line) =>
      `${fixed(100 * line.times.filter((t) => t <= time).length / line.jobs, 1)} %  ${data.policies[line.policy]}`)];
  }, () => cursor.removeAttribute('d'));
}

function policyLegend(results, shape) {
  return html('div', {class: 'legend'}, ...results.map((r) => key(data.policies[r.policy], shape(r.policy))));
}

// ---- Cluster

// The outline of a value that holds from each sample to the next one.
function steps(samples, end, x, y, value) {
  let d = '';
  samples.forEach((sample, i) => {
    const at = y(value(sample)).toFixed(1);
    const next = i + 1 < samples.length ? samples[i + 1].time : end;
    d += `${i ? 'L' : 'M'}${x(sample.time).toFixed(1)} ${at}H${x(Math.max(next, sample.time)).toFixed(1)}`;
  });
  return d;
}

// Those that hold within the range, cut to it.
function within(samples, range) {
  const first = Math.max(samples.findLastIndex((s) => s.time <= range[0]), 0);
  return samples.slice(first).filter((s) => s.time < range[1]).map((s) => ({...s, time: Math.max(s.time, range[0])}));
}

function drawCluster(results, range) {
  const all = results.map((r) => decode(r).samples);
  const most = (value) => Math.max(1, ...all.map((samples) => samples.reduce((m, s) => Math.max(m, value(s)), 0)));
  const strips = [{title: 'GPUs', top: most((s) => Math.max(s.gpus, s.used)), height: 130},
                  {title: 'nodes', top: most((s) => s.nodes), height: 50},
                  {title: 'waiting jobs', top: most((s) => s.waiting), height: 65}];
  const holders = panels(document.querySelector('#cluster .panels'), results);
  results.forEach((result, i) => {
    const {samples, end} = decode(result);
    const chart = plot(holders[i], strips.reduce((sum, s) => sum + s.height + 36, 0) + 40, `Cluster over time under ${data.policies[result.policy]}`);
    const visible = within(all[i], range);
    const box = {left: 46, right: chart.width - 16, top: 0, bottom: -6};
    let x = null;
    strips.forEach((strip, n) => {
      box.top = box.bottom + 36;
      box.bottom = box.top + strip.height;
      const y = countAxis(chart, box, strip.top, strip.title);
      x = timeAxis(chart, box, range, n === strips.length - 1);
      if (!visible.length) return;
      const until = Math.min(end, range[1]);
      const area = (value, kind) => {
        const d = steps(visible, until, x, y, value) + `V${y(0)}H${x(visible[0].time)}z`;
        return svg('path', {class: kind, d});
      };
      if (n === 0) chart.node.append(area((s) => s.gpus, 'capacity'), area((s) => s.used, `area ${colourOf(result.policy)}`));
      if (n === 1) chart.node.append(area((s) => s.nodes, 'capacity'));
      if (n === 2) chart.node.append(svg('path', {class: 'jobs', d: steps(visible, until, x, y, (s) => s.waiting)}));
    });
    const whole = {...box, top: 30};
    const cursor = svg('path', {class: 'cursor'});
    chart.node.append(cursor);
    onPoint(chart, (px) => {
      const time = range[0] + (range[1] - range[0]) * (px - box.left) / (box.right - box.left);
      const s = samples.findLast((sample) => sample.time <= time);
      if (!s || px < box.left || px > box.right || time > end) return null;
      cursor.setAttribute('d', `M${px} ${whole.top}V${whole.bottom}`);
      return [`${data.policies[result.policy]}, at ${moment(time)}`, `${s.used} of ${plural(s.gpus, 'GPU')} in use on ${plural(s.nodes, 'node')}`,
              `${plural(s.running, 'job')} running, ${s.waiting} waiting`];
    }, () => cursor.removeAttribute('d'));
    onDrag(chart, whole, range, zoomTo);
  });
}

// A place for each policy. All are there before the first is drawn, because they share the width.
function panels(place, results) {
  const holders = results.map((result) => html('div', {class: 'panel'}, html('h3', {},
    html('span', {class: `swatch ${colourOf(result.policy)}`}), data.policies[result.policy])));
  place.replaceChildren(...holders);
  return holders;
}

// ---- Allocation

const kOrders = {
  submitted: (a, b) => a.index - b.index,
  application: (a, b) => a.application - b.application || a.index - b.index,
  time: (a, b) => (a.time === null) - (b.time === null) || a.time - b.time || a.index - b.index,
};
const kOrderTitles = {submitted: 'jobs, first submitted on top', application: 'jobs, by application', time: 'jobs, quickest on top'};

const applicationColour = (application) => 'a' + application % 8;

function colourOfSpan(job, span) {
  if (span.placement.gpus === 0) return 'waiting';
  if (span.restarting) return 'restarting';
  if (state.colour === 'application') return 'area ' + applicationColour(job.application);
  return 'area g' + kGpuBins.findIndex((most) => span.placement.gpus <= most);
}

function drawAllocationLegend(results) {
  const bins = kGpuBins.map((most, i) => {
    const least = i ? kGpuBins[i - 1] + 1 : 1;
    return key(most === Infinity ? `over ${least - 1}` : least === most ? `${most}` : `${least}\u2013${most}`, areaKey(`area g${i}`));
  });
  const largest = results.flatMap((r) => decode(r).jobs).reduce((m, job) => job.spans.reduce((n, s) => Math.max(n, s.placement.gpus), m), 1);
  const used = new Set(results.flatMap((r) => decode(r).jobs.map((job) => job.application)));
  const keys = state.colour === 'gpus'
      ? ['GPUs:', ...bins.slice(0, 1 + kGpuBins.findIndex((most) => largest <= most))]
      : [...used].sort((a, b) => a - b).map((a) => key(data.applications[a], areaKey(`area ${applicationColour(a)}`)));
  byId('allocation-legend').replaceChildren(...keys, key('starting or restarting (at least a pixel wide)', areaKey('restarting')),
                                            key('waiting', areaKey('waiting', 5, 2)));
}

function drawAllocation(shown, range) {
  const results = state.only === null ? shown : shown.filter((r) => r.policy === state.only);
  drawAllocationLegend(results);
  const holders = panels(document.querySelector('#allocation .panels'), results);
  results.forEach((result, i) => drawJobs(holders[i], result, range));
}

function drawJobs(holder, result, range) {
  const jobs = [...decode(result).jobs].sort(kOrders[state.order]);
  const row = clamp(Math.floor(900 / Math.max(jobs.length, 1)), 4, 18);
  const isNamed = row >= 13;
  const chart = plot(holder, 26 + jobs.length * row + 44, `Allocation of ${plural(jobs.length, 'job')} under ${data.policies[result.policy]}`);
  const left = isNamed ? clamp(chart.width * 0.25, 90, 190) : 46;
  const box = {left, right: chart.width - 16, top: 26, bottom: 26 + jobs.length * row};
  chart.node.append(text(0, box.top - 10, 'start', kOrderTitles[state.order], 'title'));
  const x = timeAxis(chart, box, range, true);
  jobs.forEach((job, i) => {
    const at = box.top + i * row + row / 2 + 4;
    if (isNamed) chart.node.append(text(left - 6, at, 'end', cut(job.name, left - 10)));
    else if (i === 0 || (i + 1) % 20 === 0) chart.node.append(text(left - 6, at, 'end', String(i + 1)));
  });
  // One path for each colour: thousands of elements would make the page slow. On whole pixels, so that neighbours meet.
  const paths = new Map();
  const dots = window.devicePixelRatio || 1;
  const snap = (value) => Math.round(value * dots) / dots;
  jobs.forEach((job, i) => {
    for (const span of job.spans) {
      if (span.end <= range[0] || span.start >= range[1]) continue;
      let kind = colourOfSpan(job, span);
      const from = snap(x(Math.max(span.start, range[0])));
      const wide = Math.max(snap(x(Math.min(span.end, range[1]))) - from, kind === 'restarting' ? 1 : 0);
      if (wide === 0) continue;
      if (kind === 'restarting' && wide < 5) kind = 'restarting narrow';  // No room for a hatch.
      const high = kind === 'waiting' ? Math.max(Math.round(row / 5), 1) : row - 1;
      const top = box.top + i * row + Math.floor((row - high) / 2);
      if (!paths.has(kind)) paths.set(kind, []);
      paths.get(kind).push(`M${from} ${top}h${wide}v${high}h${-wide}z`);
    }
  });
  const isRestart = (kind) => kind.startsWith('restarting');
  for (const kind of [...paths.keys()].sort((a, b) => isRestart(a) - isRestart(b))) {
    chart.node.append(svg('path', {class: kind, d: paths.get(kind).join(''), 'data-spans': paths.get(kind).length}));
  }
  const mark = svg('rect', {class: 'row', x: box.left, width: box.right - box.left, height: row, visibility: 'hidden'});
  chart.node.append(mark);
  onPoint(chart, (px, py) => {
    const i = Math.floor((py - box.top) / row);
    if (i < 0 || i >= jobs.length) return null;
    fill(mark, {y: box.top + i * row - 0.5, visibility: 'visible'}, []);
    const time = range[0] + (range[1] - range[0]) * (px - box.left) / (box.right - box.left);
    return describeJob(jobs[i], px < box.left ? null : jobs[i].spans.find((s) => s.start <= time && time < s.end));
  }, () => mark.setAttribute('visibility', 'hidden'));
  onDrag(chart, box, range, zoomTo);
}

function describeJob(job, span) {
  const lines = [`${job.name} (${data.applications[job.application]})`];
  if (span) {
    const what = span.placement.gpus === 0 ? 'waiting'
        : plural(span.placement.gpus, 'GPU') + (span.placement.label.includes('+') ? ` on nodes as ${span.placement.label}` : ' on one node') +
          (span.restarting ? ', loading its checkpoint' : '');
    lines.push(what, `${moment(span.start)} to ${moment(span.end)} (${duration(span.end - span.start)})`);
  }
  lines.push(`submitted at ${moment(job.submitted)}, ` + (job.time === null ? 'not finished' : `done after ${duration(job.time)}`),
             `${plural(job.restarts, 'restart')}` + (known(job.gpuHours) ? `, ${fixed(job.gpuHours, 2)} GPU-hours` : '') +
             (known(job.slowdown) ? `, slowdown ${fixed(job.slowdown, 2)}` : ''));
  return lines;
}

// ---- Restarts

// None, and then about a dozen equal steps.
function restartBins(most) {
  const width = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((w) => most / w <= 14) || Math.ceil(most / 14);
  const bins = [{least: 0, most: 0, label: '0'}];
  for (let least = 1; least <= most; least += width) {
    const last = least + width - 1;
    bins.push({least, most: last, label: width === 1 ? `${least}` : `${least}\u2013${last}`});
  }
  return bins;
}

function drawRestarts(results) {
  const place = document.querySelector('#restarts .chart');
  place.replaceChildren(policyLegend(results, (policy) => areaKey(`area ${colourOf(policy)}`)));
  const counts = results.map((r) => r.jobs.map((job) => job[4]));
  if (!counts.some((c) => c.length)) return;
  const bins = restartBins(counts.flat().reduce((a, b) => Math.max(a, b), 0));
  const chart = plot(place, 280, 'Number of jobs by restarts, for each policy');
  const box = {left: 46, right: chart.width - 16, top: 30, bottom: 230};
  const heights = counts.map((c) => bins.map((bin) => c.filter((n) => n >= bin.least && n <= bin.most).length));
  const y = countAxis(chart, box, Math.max(1, ...heights.flat()), 'jobs');
  const room = (box.right - box.left) / bins.length;
  const bar = Math.min(room * 0.84 / results.length, 40);
  const every = Math.ceil((Math.max(...bins.map((bin) => bin.label.length)) * 7 + 8) / room);
  bins.forEach((bin, b) => {
    const middle = box.left + room * (b + 0.5);
    if (b % every === 0) chart.node.append(text(middle, box.bottom + 16, 'middle', bin.label));
    results.forEach((result, i) => {
      const height = heights[i][b];
      chart.node.append(svg('rect', {class: `area ${colourOf(result.policy)}`, x: middle + (i - results.length / 2) * bar, y: y(height),
                                     width: Math.max(bar - 1, 1), height: y(0) - y(height)}));
    });
  });
  chart.node.append(svg('path', {class: 'axis', d: `M${box.left} ${box.bottom}H${box.right}`}),
                    text((box.left + box.right) / 2, box.bottom + 36, 'middle', 'restarts of a job', 'title'));
  onPoint(chart, (px) => {
    const b = Math.floor((px - box.left) / room);
    if (b < 0 || b >= bins.length) return null;
    return [`Restarted ${bins[b].label} ${bins[b].label === '1' ? 'time' : 'times'}:`,
            ...results.map((r, i) => `${plural(heights[i][b], 'job')} of ${counts[i].length}  ${data.policies[r.policy]}`)];
  }, () => {});
}

// ---- Controls

const kEmpty = [0, 1];
function wholeRange() {
  const end = Math.max(0, ...data.results.filter((r) => r.workload === state.workload).map((r) => decode(r).end));
  return end > 0 ? [0, end] : kEmpty;
}

function zoomTo(range) {
  state.range = range;
  drawOverTime();
}

function drawOverTime() {
  const results = shownResults();
  const whole = wholeRange();
  const range = state.range || whole;
  const unit = unitFor(whole[1]);
  const show = (time) => String(+(time / unit.seconds).toFixed(2));
  byId('from').value = show(range[0]);
  byId('to').value = show(range[1]);
  byId('zoom-unit').textContent = unit.name;
  byId('whole').hidden = state.range === null;
  hideTip();
  drawCluster(results, range);
  drawAllocation(results, range);
}

function draw() {
  const results = shownResults();
  drawCompletion(results);
  drawOverTime();
  drawRestarts(results);
}

function choose(id, options, onChange) {
  byId(id).replaceChildren(...options.map(([value, label]) => html('option', {value}, label)));
  byId(id).onchange = () => onChange(byId(id).value);
}

// What there is for the workload; a policy that did not run it is not offered.
function offerPolicies() {
  const present = [...data.policies.keys()].filter((p) => resultOf(state.workload, p));
  const field = byId('policies');
  field.replaceChildren(field.querySelector('legend'), ...present.map((p) => {
    const box = html('input', {type: 'checkbox'});
    box.checked = state.shown.has(p);
    box.onchange = () => {
      state.shown[box.checked ? 'add' : 'delete'](p);
      draw();
    };
    return html('label', {}, box, ' ', html('span', {class: `swatch ${colourOf(p)}`}), data.policies[p]);
  }));
  field.hidden = present.length < 2;
  if (!present.includes(state.only)) state.only = null;
  choose('allocation-policy', [['', 'policies side by side'], ...present.map((p) => [p, `only ${data.policies[p]}`])], (value) => {
    state.only = value === '' ? null : Number(value);
    if (state.only !== null && !state.shown.has(state.only)) {
      state.shown.add(state.only);
      offerPolicies();
      draw();
    } else {
      drawOverTime();
    }
  });
  byId('allocation-policy').value = state.only === null ? '' : state.only;
  byId('allocation-policy').parentNode.hidden = present.length < 2;
}

function start() {
  byId('headline').textContent = headline();
  if (!data.results.length) return;
  document.querySelector('main').hidden = false;
  if (hasMeans) byId('mean-note').textContent = 'A mean is that of the values; its ratio is the ratio of the means.';
  fillTable(byId('summary-table'), kSummary);
  fillTable(byId('more-table'), kMore);
  choose('workload', data.workloads.map((name, i) => [i, name]), (value) => {
    state.workload = Number(value);
    state.range = null;
    offerPolicies();
    draw();
  });
  byId('workload-label').hidden = data.workloads.length < 2;
  offerPolicies();
  for (const id of ['colour', 'order']) {
    byId(id).onchange = () => { state[id] = byId(id).value; drawOverTime(); };
  }
  const typed = () => {
    const whole = wholeRange();
    const seconds = unitFor(whole[1]).seconds;
    const [from, to] = ['from', 'to'].map((id) => clamp(byId(id).valueAsNumber * seconds, whole[0], whole[1]));
    zoomTo(to - from >= 1 ? [from, to] : state.range);
  };
  byId('from').onchange = byId('to').onchange = typed;
  byId('whole').onclick = () => zoomTo(null);
  let waiting = 0, width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth === width) return;  // On a phone, scrolling changes the height.
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 150);
  });
  draw();
}

start();
document.documentElement.dataset.state = 'ready';
