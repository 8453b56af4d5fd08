// Numbers and decisions in words.

const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export const count = (n) => (n < 100000 ? whole.format(n) : short.format(n));

export function percent(rate) {
  const p = rate * 100;
  if (p === 0) return '0 %';
  if (p < 0.01) return 'below 0.01 %';
  return `${+p.toPrecision(p < 99.5 ? 2 : 3)} %`;
}

// A length in seconds, to two figures or two units.
export function length(s) {
  if (s < 0.001) return `${Math.round(s * 1e6)} µs`;
  if (s < 1) return `${+(s * 1000).toPrecision(3)} ms`;
  if (s < 60) return `${+s.toFixed(1)} s`;
  return age(s);
}

// How long something has lasted, in whole units that do not flicker.
export function age(s) {
  s = Math.max(0, Math.floor(s));
  if (s < 60) return `${s} s`;
  if (s < 3600) return two(s, 60, 'min', 1, 's');
  if (s < 86400) return two(s, 3600, 'h', 60, 'min');
  return two(s, 86400, 'd', 3600, 'h');
}

function two(s, big, bigName, small, smallName) {
  const rest = Math.floor((s % big) / small);
  return `${Math.floor(s / big)} ${bigName}` + (rest ? ` ${rest} ${smallName}` : '');
}

export function clock(ms) {
  const then = new Date(ms);
  const time = then.toLocaleTimeString('en-GB');
  return then.toDateString() === new Date().toDateString()
    ? time
    : `${then.toLocaleDateString('en-CA')} ${time}`;
}

export const stateWords = {
  open: 'open',
  isolated: 'isolated',
  'half-open': 'half-open',
  recovering: 'recovering',
  closed: 'closed',
};

// Surprise is in nats: chance explains it in at most one case in e^surprise.
function odds(nats) {
  const digits = nats / Math.LN10;
  return digits < 4 ? `1 in ${count(Math.round(Math.exp(nats)))}` : `1 in 10^${Math.floor(digits)}`;
}

// Why an evidence was believed: what is normal, what trips, what chance would do.
function weighed(evidence) {
  if (!evidence) return [];
  const said = [];
  if (evidence.trip_point) said.push(`trips at ${percent(evidence.trip_point)}`);
  if (evidence.reference !== undefined) said.push(`normal is ${percent(evidence.reference)}`);
  if (evidence.required_nats) {
    said.push(`by chance less than ${odds(evidence.surprise_nats || 0)}, asked is ${odds(evidence.required_nats)}`);
  }
  return said;
}

const failed = (t) => `${count(t.failures)} of ${count(t.calls)} calls failed (${percent(t.failures / t.calls)})`;
const slow = (t) => `${count(t.slow)} of ${count(t.calls)} calls slow (${percent(t.slow / t.calls)})`;

function numbers(t) {
  const said = [];
  if (t.calls && t.failures) said.push(failed(t), ...weighed(t.failure_evidence));
  if (t.calls && t.slow) said.push(slow(t));
  return said;
}

const causes = {
  'consecutive-failures': (t) => [`${t.run} failures in a row, the limit is ${t.run_needed}`, ...numbers(t)],
  'failure-ratio': (t) => [failed(t), 'at the limit for failures', ...weighed(t.failure_evidence)],
  'relative-failures': (t) => [failed(t), ...weighed(t.failure_evidence)],
  'slow-calls': (t) => [slow(t), ...weighed(t.slow_evidence),
    ...(t.normal_latency_seconds !== undefined ? [`normal latency ${length(t.normal_latency_seconds)}`] : [])],
  'probe-failed': () => ['a probe failed'],
  'slow-probe': () => ['a probe was slow'],
  'probes-inconclusive': () => ['ten probes in a row decided nothing'],
  'ramp-failed': (t) => ['calls failed during the ramp', ...numbers(t)],
  'break-elapsed': () => ['the break was over'],
  'probe-requested': () => ['a probe was asked for by hand'],
  'probes-succeeded': () => ['the probes succeeded'],
  'ramp-completed': () => ['the ramp was completed'],
  isolated: () => ['isolated by hand'],
  reset: () => ['reset by hand'],
};

// The cause of a transition, with the numbers of the decision.
export function why(t) {
  const said = causes[t.cause] ? causes[t.cause](t) : [t.cause];
  return said.join('; ');
}

// A breaker has a name, or it must be told from the others without.
export const nameOf = (b) => b.name || '(no name)';
