// Numbers and decisions in words.

const gap = '\u00a0'; // a number keeps its unit
const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export const count = (n) => (n < 100000 ? whole.format(n) : short.format(n));

export function percent(rate) {
  const p = rate * 100;
  if (p === 0) return `0${gap}%`;
  if (p < 0.01) return `below 0.01${gap}%`;
  return `${+p.toPrecision(p < 99.5 ? 2 : 3)}${gap}%`;
}

// A length in seconds, to two figures or two units.
export function length(s) {
  if (s < 0.001) return `${Math.round(s * 1e6)}${gap}µs`;
  if (s < 1) return `${+(s * 1000).toPrecision(3)}${gap}ms`;
  if (s < 60) return `${+s.toFixed(1)}${gap}s`;
  return age(s);
}

// How long something has lasted, in whole units that do not flicker.
export function age(s) {
  s = Math.max(0, Math.floor(s));
  if (s < 60) return `${s}${gap}s`;
  if (s < 3600) return two(s, 60, 'min', 1, 's');
  if (s < 86400) return two(s, 3600, 'h', 60, 'min');
  return two(s, 86400, 'd', 3600, 'h');
}

function two(s, big, bigName, small, smallName) {
  const rest = Math.floor((s % big) / small);
  return `${Math.floor(s / big)}${gap}${bigName}` + (rest ? `${gap}${rest}${gap}${smallName}` : '');
}

export function clock(ms) {
  const then = new Date(ms);
  const time = then.toLocaleTimeString('en-GB');
  return then.toDateString() === new Date().toDateString()
    ? time
    : `${then.toLocaleDateString('en-CA')} ${time}`;
}

// Surprise is in nats: chance explains it in at most one case in e^surprise.
function odds(nats) {
  const digits = nats / Math.LN10;
  if (digits < 3.99) return `1 in ${count(Math.round(Math.exp(nats)))}`;
  return `1 in 10${String(Math.floor(digits + 0.01)).replace(/\d/g, (d) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[d])}`;
}

// chance says how far beyond chance it is, and how far it has to be.
export function chance(nats, required) {
  const is = nats > 0 ? `chance below ${odds(nats)}` : 'no more than chance';
  return `${is}, trips below ${odds(required)}`;
}

// Why an evidence was believed: what is normal, what trips, what chance would do.
function weighed(evidence) {
  if (!evidence) return [];
  const said = [];
  if (evidence.trip_point) said.push(`trips at ${percent(evidence.trip_point)}`);
  if (evidence.reference !== undefined) said.push(`normally ${percent(evidence.reference)}`);
  if (evidence.required_nats) said.push(chance(evidence.surprise_nats || 0, evidence.required_nats));
  return said;
}

const failed = (t) => `${count(t.failures)} of ${count(t.calls)} calls failed (${percent(t.failures / t.calls)})`;
const slow = (t) => `${count(t.slow)} of ${count(t.calls)} calls slow (${percent(t.slow / t.calls)})`;
const window = (t) => (t.calls && t.failures ? [failed(t)] : []);
const latency = (t) =>
  (t.normal_latency_seconds === undefined ? [] : [`normal latency ${length(t.normal_latency_seconds)}`]);

// The first is the reason, and the rest are its numbers.
const causes = {
  'consecutive-failures': (t) => [`${t.run} failures in a row`, `trips at ${t.run_needed}`, ...window(t)],
  'failure-ratio': (t) => [failed(t), ...weighed(t.failure_evidence)],
  'relative-failures': (t) => [failed(t), ...weighed(t.failure_evidence)],
  'slow-calls': (t) => [slow(t), ...weighed(t.slow_evidence), ...latency(t)],
  'probe-failed': () => ['A probe failed'],
  'slow-probe': () => ['A probe was slow'],
  'probes-inconclusive': () => ['Ten probes in a row decided nothing'],
  'ramp-failed': (t) => ['Calls failed during the ramp', ...window(t), ...weighed(t.failure_evidence)],
  'break-elapsed': () => ['The break was over'],
  'probe-requested': () => ['A probe was asked for by hand'],
  'probes-succeeded': () => ['The probes succeeded'],
  'ramp-completed': () => ['The ramp was completed'],
  isolated: () => ['Isolated by hand'],
  reset: () => ['Reset by hand'],
};

// The cause of a transition, and the numbers of the decision.
export function why(t) {
  const [reason, ...numbers] = causes[t.cause] ? causes[t.cause](t) : [t.cause];
  return { reason, numbers: numbers.join(' · ') };
}

export function sentence(t) {
  const { reason, numbers } = why(t);
  return numbers ? `${reason}: ${numbers}` : reason;
}

// A breaker has a name, or it must be told from the others without.
export const nameOf = (b) => b.name || '(no name)';
