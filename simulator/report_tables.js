// What the results say, and the tables of it.

const data = JSON.parse(byId('data').textContent);

const resultOf = (workload, policy) => data.results.find((r) => r.workload === workload && r.policy === policy);
const placements = data.placements.map((nodes) => ({gpus: nodes.reduce((sum, n) => sum + n, 0), label: nodes.join('+')}));

// Jobs and samples as objects, made when a result is first shown.
const decoded = new Map();
function decode(result) {
  if (decoded.has(result)) return decoded.get(result);
  const jobs = result.jobs.map(([name, application, submitted, finished, restarts, gpuHours, slowdown, flat], index) => {
    const spans = [];
    let at = 0;
    for (let i = 0; i < flat.length; i += 3) {
      const start = at + flat[i];
      at = start + flat[i + 1];
      spans.push({start: start / 10, end: at / 10, placement: placements[flat[i + 2] >> 1], restarting: flat[i + 2] % 2 === 1});
    }
    const time = finished < submitted ? null : (finished - submitted) / 10;  // Null: it did not finish.
    return {name, application, submitted: submitted / 10, finished: finished / 10, restarts, gpuHours, slowdown, spans, time, index};
  });
  const samples = [];
  let time = 0;
  for (let i = 0; i < result.samples.length; i += 6) {
    const [step, nodes, gpus, used, running, waiting] = result.samples.slice(i, i + 6);
    time += step;
    samples.push({time: time / 10, nodes, gpus, used, running, waiting});
  }
  const ends = [result.makespan || 0, samples.length ? samples[samples.length - 1].time : 0];
  for (const job of jobs) if (job.spans.length) ends.push(job.spans[job.spans.length - 1].end);
  const out = {jobs, samples, end: ends.reduce((a, b) => Math.max(a, b), 0)};
  decoded.set(result, out);
  return out;
}

// ---- Tables

const kSummary = [
  {title: 'Average completion', value: (r) => r.average, isTime: true},
  {title: 'Median completion', value: (r) => r.median, isTime: true},
  {title: 'p99 completion', value: (r) => r.p99, isTime: true},
  {title: 'Makespan', value: (r) => r.makespan, isTime: true},
  {title: 'Restarts', value: (r) => r.restarts, digits: 0},
  {title: 'Restarts per job', value: (r) => r.jobs.length ? r.restarts / r.jobs.length : null},
  {title: 'GPU-hours', value: (r) => r.gpu_hours},
  {title: 'Node-hours', value: (r) => r.node_hours},
  {title: 'Worst slowdown', value: (r) => r.worst_slowdown},
];
const kMore = [
  {title: 'Jobs', value: (r) => r.jobs.length, digits: 0, isPlain: true},
  {title: 'Mean slowdown', value: (r) => r.mean_slowdown},
  {title: 'Rounds', value: (r) => r.rounds, digits: 0, isPlain: true},
  {title: 'CPU time of the policy', unit: 's', value: (r) => r.cpu_seconds, digits: 2},
  {title: 'CPU time per round', unit: 'ms', value: (r) => r.rounds > 0 && known(r.cpu_seconds) ? 1000 * r.cpu_seconds / r.rounds : null},
];

// Only workloads that every policy has run: means over different ones do not compare.
const common = [...data.workloads.keys()].filter((w) => [...data.policies.keys()].every((p) => resultOf(w, p)));
const hasMeans = common.length > 1 && data.policies.length > 0;

// Groups of rows, each {policy, values}: one for each workload, and the means before them.
function groupsOf(columns) {
  const groups = [...data.workloads.keys()].map((w) => ({
    title: data.workloads[w],
    rows: data.results.filter((r) => r.workload === w).map((r) => ({policy: r.policy, values: columns.map((c) => c.value(r))})),
  }));
  if (hasMeans) {
    const mean = (values) => values.every(known) ? values.reduce((a, b) => a + b, 0) / values.length : null;
    groups.unshift({
      title: `Mean of ${common.length} workloads`,
      rows: [...data.policies.keys()].map((p) => ({
        policy: p, values: columns.map((c) => mean(common.map((w) => c.value(resultOf(w, p))))),
      })),
    });
  }
  return groups;
}

function fillTable(table, columns) {
  const groups = groupsOf(columns);
  const valuesOf = (i) => groups.flatMap((g) => g.rows.map((row) => row.values[i])).filter(known);
  const longest = Math.max(0, ...columns.flatMap((column, i) => column.isTime ? valuesOf(i) : []));
  const formats = columns.map((column, i) => {
    const values = valuesOf(i);
    const unit = column.isTime ? unitFor(longest) : {name: column.unit, seconds: 1};
    const digits = known(column.digits) ? column.digits : digitsFor(values.map((v) => v / unit.seconds));
    return {unit: unit.name, show: (v) => fixed(v / unit.seconds, digits)};
  });
  table.append(html('thead', {}, html('tr', {}, html('th', {scope: 'col'}, 'Policy'), ...columns.map((c, i) =>
    html('th', {scope: 'col'}, ...c.title.split(/ (?=\S+$)/).flatMap((line, n) => n ? [html('br'), line] : [line]),
         formats[i].unit ? html('span', {class: 'unit'}, ` (${formats[i].unit})`) : null)))));
  for (const group of groups) {
    const body = html('tbody', {}, html('tr', {class: 'group'},
      html('th', {scope: 'rowgroup', colspan: columns.length + 1}, html('span', {title: group.title}, group.title))));
    const best = columns.map((c, i) => {
      const values = group.rows.map((row) => row.values[i]).filter(known);
      const least = Math.min(...values);
      return !c.isPlain && values.some((v) => v > least) ? least : null;
    });
    for (const row of group.rows) {
      const name = data.policies[row.policy];
      body.append(html('tr', {class: 'result'},
        html('th', {scope: 'row'}, html('span', {class: `swatch ${colourOf(row.policy)}`}), html('span', {class: 'name', title: name}, name)),
        ...columns.map((c, i) => cell(c, formats[i], row.values[i], group.rows[0].values[i], best[i], group.rows.length > 1))));
    }
    table.append(body);
  }
}

function cell(column, format, value, first, best, isCompared) {
  if (!known(value)) return html('td', {}, '\u2013');
  const hasRatio = isCompared && !column.isPlain;
  const ratio = known(first) && first > 0 ? fixed(value / first, value / first >= 9.995 ? 1 : 2) + '\u00d7' : '';
  return html('td', {class: best !== null && value === best ? 'best' : null}, format.show(value), hasRatio ? ' ' : null,
              hasRatio ? html('span', {class: 'ratio'}, ratio) : null);
}

function headline() {
  if (!data.results.length) return 'There are no results.';
  const workloads = hasMeans ? common : [0];
  const policies = [...data.policies.keys()].filter((p) => workloads.every((w) => resultOf(w, p) && known(resultOf(w, p).average)));
  if (!policies.length) return '';
  const average = (p) => workloads.reduce((sum, w) => sum + resultOf(w, p).average, 0) / workloads.length;
  const where = hasMeans ? `Over ${common.length} workloads` : `On ${data.workloads[0]}`;
  const best = policies.reduce((a, b) => average(b) < average(a) ? b : a);
  const names = data.policies;
  if (policies.length === 1) return `${where}, jobs under ${names[best]} take ${duration(average(best))} on average.`;
  if (best === policies[0]) {
    return `${where}, jobs take least time under ${names[best]}: ${duration(average(best))} on average.`;
  }
  return `${where}, jobs take least time under ${names[best]}: ${duration(average(best))} on average, ` +
      `${fixed(average(best) / average(policies[0]), 2)}\u00d7 the ${duration(average(policies[0]))} under ${names[policies[0]]}.`;
}
