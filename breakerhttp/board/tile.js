// One tile: a breaker as people see it. Names and all other texts are set as text, never as
// markup.

import { age, chance, clock, count, length, nameOf, percent, sentence, why } from './words.js';

const SVG = 'http://www.w3.org/2000/svg';

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// say sets a text only where it differs, so that nothing is drawn or read out again.
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function show(node, shown) {
  if (node.hidden === shown) node.hidden = !shown;
}

const unknown = (learns) => (learns ? 'too few calls to know what is normal' : 'what is normal is not measured');

const shapes = { closed: '●', open: '✕', 'half-open': '◐', recovering: '◔', isolated: '■' };

const meanings = {
  open: 'every call is refused',
  isolated: 'every call is refused until a reset',
  'half-open': 'probes only',
  recovering: 'a growing share is admitted',
  closed: 'every call is admitted',
};

const dryMeanings = {
  open: 'every call would be refused',
  isolated: 'every call would be refused until a reset',
  'half-open': 'all but probes would be refused',
  recovering: 'a growing share would be admitted',
  closed: 'every call is admitted',
};

export const controlWords = { 'probe-now': 'Probe now', reset: 'Reset', isolate: 'Isolate' };

const useful = {
  'probe-now': (b) => b.state === 'open',
  reset: (b) => b.state !== 'closed',
  isolate: (b) => b.state !== 'isolated',
};

export class Tile {
  // board has controls (a boolean), ask(tile, control) and now(), the time of the server.
  constructor(board, data) {
    this.board = board;
    this.data = data;
    this.visible = false;
    this.name = make('h3', { dir: 'auto', id: `name-${data.id}` });
    this.shape = make('span', { 'aria-hidden': 'true' });
    this.state = make('span');
    this.badge = make('span', { class: 'badge' }, this.shape, ' ', this.state);
    this.mark = make('span', { class: 'mark', title: 'A dry run: it refuses nothing' }, 'shadow');
    this.article = make('article', { class: 'tile', 'aria-labelledby': `name-${data.id}` },
      make('div', { class: 'head' }, this.name, this.mark, this.badge));
    this.node = make('li', {}, this.article);
    this.drawHead();
  }

  drawHead() {
    const b = this.data;
    say(this.name, nameOf(b));
    say(this.shape, shapes[b.state] || '');
    say(this.state, b.state);
    show(this.mark, b.shadow);
    if (this.node.dataset.state !== b.state) {
      this.node.dataset.changed = this.node.dataset.state ? 'yes' : 'no';
      this.node.dataset.state = b.state;
    }
    this.node.classList.toggle('nodata', !b.data);
  }

  // setVisible is told when the tile comes near the screen; what nobody sees is not drawn.
  setVisible(visible) {
    this.visible = visible;
    if (visible) this.draw();
  }

  draw() {
    this.drawHead();
    if (!this.visible) return;
    if (!this.body) this.build();
    const b = this.data;
    show(this.nothing, !b.data);
    for (const node of this.dataOnly) show(node, b.data);
    const trouble = b.state !== 'closed';
    const t = trouble ? b.trip : b.last;
    show(this.why, Boolean(t));
    if (t) {
      const { reason, numbers } = why(t);
      say(this.whyReason, reason);
      say(this.whyNumbers, trouble ? numbers : `${t.from} to ${t.to} at ${clock(Date.parse(t.at))}`);
      this.why.classList.toggle('past', !trouble);
    }
    show(this.ramp, b.state === 'recovering');
    if (b.state === 'recovering') {
      say(this.rampText, `${percent(b.admitted)} of the calls admitted`);
      this.rampBar.value = b.admitted;
    }
    this.drawProbes();
    this.drawFailures();
    this.drawSlow();
    this.drawHour();
    for (const [field, node] of this.counts) say(node, count(b[field]));
    this.drawButtons();
    if (this.more.open) this.drawMore();
    this.tick();
  }

  // tick draws what moves by itself.
  tick() {
    if (!this.body) return;
    const b = this.data;
    const now = this.board.now();
    const meaning = (b.shadow ? dryMeanings : meanings)[b.state];
    say(this.since, b.since ? `${meaning}, for ${age((now - b.since) / 1000)}` : meaning);
    const left = (b.until - now) / 1000;
    const counting = b.state === 'open' && b.until > 0;
    show(this.wait, counting);
    if (counting) {
      say(this.waitText, left > 0 ? `Next probe in ${age(Math.ceil(left))}` : 'The next call is a probe');
      const share = b.break > 0 ? Math.min(1, Math.max(0, 1 - left / b.break)) : 1;
      if (Math.abs(this.waitBar.value - share) > 0.002) this.waitBar.value = share;
    }
  }

  build() {
    this.since = make('p', { class: 'since' });
    this.nothing = make('p', { class: 'nothing' }, 'No calls yet: no data.');
    this.whyReason = make('strong');
    this.whyNumbers = make('span');
    this.why = make('p', { class: 'why' }, this.whyReason, ' ', this.whyNumbers);
    [this.wait, this.waitText, this.waitBar] = this.progress('Break served');
    [this.ramp, this.rampText, this.rampBar] = this.progress('Share of the calls admitted');
    this.probes = make('p', { class: 'probes' });
    this.failures = new Gauge('Failures');
    this.slow = new Gauge('Slow calls');
    this.buildHour();
    this.counts = [this.data.shadow ? ['would_refuse', 'would refuse'] : ['refused', 'refused'], ['canceled', 'canceled'], ['throttled', 'throttled'], ['late', 'late']]
      .map(([field, word]) => [field, make('dd'), word]);
    const counts = make('dl', { class: 'counts' },
      ...this.counts.map(([, node, word]) => make('div', {}, make('dt', {}, word), node)));
    this.buildMore();
    this.dataOnly = [this.failures.node, this.slow.node, this.hour, counts];
    this.body = make('div', { class: 'body' }, this.since, this.nothing, this.why, this.wait, this.ramp, this.probes,
      this.failures.node, this.slow.node, this.hour, counts);
    this.article.append(this.body, this.buildFoot());
  }

  progress(label) {
    const text = make('span');
    const bar = make('progress', { max: 1, value: 0, 'aria-label': label });
    return [make('div', { class: 'progress' }, text, bar), text, bar];
  }

  buildFoot() {
    const buttons = make('div', { class: 'buttons' });
    this.buttons = [];
    if (this.board.controls) {
      for (const [control, word] of Object.entries(controlWords)) {
        const button = make('button', { type: 'button', 'data-control': control, 'aria-describedby': `name-${this.data.id}` }, word);
        button.addEventListener('click', () => this.board.ask(this, control));
        this.buttons.push([control, button]);
        buttons.append(button);
      }
    }
    return make('div', { class: 'foot' }, this.more, buttons);
  }

  // drawButtons shows those that would do something. Focus on one that goes stays in the tile.
  drawButtons() {
    let lost = false;
    for (const [control, button] of this.buttons) {
      const shown = useful[control](this.data);
      lost ||= !shown && button === document.activeElement;
      show(button, shown);
    }
    if (lost) this.focus();
  }

  focus() {
    this.more.querySelector('summary').focus({ preventScroll: true });
  }

  drawProbes() {
    const b = this.data;
    const said = [];
    if (b.state !== 'closed' && b.state !== 'isolated') {
      const results = [[b.probes_failed, 'failed'], [b.probes_slow, 'slow'], [b.probes_void, 'undecided']]
        .filter(([n]) => n).map(([n, word]) => `${n} ${word}`);
      if (results.length) said.push(`Probes: ${results.join(', ')}`);
      if (b.state === 'half-open') said.push(`${b.probes} of ${b.probe_slots} in flight, ${b.probes_needed} in a row close it`);
      if (b.opens > 1) said.push(`opened ${b.opens} times in a row`);
    }
    show(this.probes, said.length > 0);
    say(this.probes, said.join(' · '));
  }

  drawFailures() {
    const b = this.data;
    const rate = b.calls ? b.failures / b.calls : 0;
    let value = b.window ? `no calls in ${age(b.trip_window)}` : 'not measured';
    if (b.calls) value = `${percent(rate)} of ${count(b.calls)}`;
    const normal = b.normal_rate === null ? unknown(b.adaptive) : `normally ${percent(b.normal_rate)}`;
    this.failures.draw(rate, b.trip_point, b.normal_rate, b.adaptive, value, normal);
  }

  drawSlow() {
    const b = this.data;
    const rate = b.calls ? b.slow / b.calls : 0;
    const said = [];
    if (b.normal_latency) said.push(`normal latency ${length(b.normal_latency)}`);
    else said.push(unknown(b.adaptive_slow));
    if (b.slow_threshold) said.push(`slow from ${length(b.slow_threshold)}`);
    const value = b.calls ? percent(rate) : '';
    this.slow.draw(rate, b.slow_trip_point, null, b.adaptive_slow, value, said.join(', '));
  }

  buildHour() {
    this.svg = document.createElementNS(SVG, 'svg');
    this.svg.setAttribute('viewBox', '0 0 240 32');
    this.svg.setAttribute('preserveAspectRatio', 'none');
    this.svg.setAttribute('role', 'img');
    this.paths = ['ok', 'failed', 'refused'].map((name) => {
      const path = document.createElementNS(SVG, 'path');
      path.setAttribute('class', name);
      this.svg.append(path);
      return path;
    });
    this.hourTexts = ['ok', 'failed', 'refused'].map((name) => make('span', { class: name }));
    this.hour = make('figure', { class: 'hour' }, this.svg, make('figcaption', {}, 'Last hour ', ...this.hourTexts));
  }

  // drawHour draws a bar for each minute, of the calls that succeeded, failed and were
  // refused, each from the bottom up.
  drawHour() {
    const { hour } = this.data;
    const newest = Math.floor(this.board.now() / 60000);
    const most = Math.max(1, ...hour.map(([, ...parts]) => parts[0] + parts[1] + parts[2]));
    const drawn = ['', '', ''];
    const sums = [0, 0, 0];
    for (const [slot, ...parts] of hour) {
      const x = 240 - 4 * (newest - slot + 1);
      let y = 32;
      parts.forEach((n, i) => {
        sums[i] += n;
        if (!n || x < 0) return;
        const height = Math.max(1, (32 * n) / most);
        y -= height;
        drawn[i] += `M${x} ${y.toFixed(1)}h3v${height.toFixed(1)}h-3z`;
      });
    }
    this.paths.forEach((path, i) => {
      if (path.getAttribute('d') !== drawn[i]) path.setAttribute('d', drawn[i]);
    });
    ['ok', 'failed', 'refused'].forEach((word, i) => say(this.hourTexts[i], `${count(sums[i])} ${word}`));
    const label = `Calls of the last hour, minute by minute; at most ${count(most)} in one`;
    if (this.svg.getAttribute('aria-label') !== label) this.svg.setAttribute('aria-label', label);
  }

  buildMore() {
    this.facts = make('dl', { class: 'facts' });
    this.rows = make('tbody');
    this.table = make('div', { class: 'scroll', tabindex: 0, role: 'region' },
      make('table', {}, make('caption', {}, 'History, newest first'),
        make('thead', {}, make('tr', {}, ...['When', 'From', 'To', 'Why'].map((word) => make('th', { scope: 'col' }, word)))),
        this.rows));
    this.more = make('details', {}, make('summary', {}, 'Details and history'), this.facts, this.table);
    this.more.addEventListener('toggle', () => this.more.open && this.drawMore());
  }

  drawMore() {
    const b = this.data;
    this.table.setAttribute('aria-label', `History of ${nameOf(b)}`);
    const sum = b.ok + b.transient + b.throttled + b.permanent + b.canceled + b.released;
    const facts = [
      ['Failures in a row', `${b.run}, opens at ${b.run_needed}`],
      ['Trip window', `${age(b.trip_window)}, from ${count(b.minimum_calls)} calls on`],
      ['Failures and chance', b.required ? chance(b.surprise, b.required) : 'not asked'],
      ['Slow calls and chance', b.slow_required ? chance(b.slow_surprise, b.slow_required) : 'not asked'],
      ['Calls admitted', count(sum)],
      ['Succeeded', `${count(b.ok)}, ${count(b.slow_total)} of them slow`],
      ['Failed', count(b.transient)],
      ['Caller’s own fault', count(b.permanent)],
      ['Without an outcome', count(b.released)],
      ['Recoveries', count(b.recoveries)],
    ];
    if (b.break) facts.push(['Break', length(b.break)]);
    if (this.facts.childElementCount !== facts.length) {
      this.facts.replaceChildren(...facts.map(([word]) => make('div', {}, make('dt', {}, word), make('dd'))));
    }
    facts.forEach(([word, value], i) => {
      const [term, fact] = this.facts.children[i].children;
      say(term, word);
      say(fact, value);
    });
    if (this.readSeq !== b.seq) this.readHistory();
  }

  async readHistory() {
    const seq = this.data.seq;
    this.readSeq = seq;
    try {
      const answer = await fetch(`history/${encodeURIComponent(this.data.id)}`);
      if (!answer.ok) throw new Error(answer.statusText);
      const history = (await answer.json()) || [];
      this.rows.replaceChildren(...history.reverse().map((t) => make('tr', {},
        make('td', {}, make('time', { datetime: t.at }, clock(Date.parse(t.at)))),
        make('td', {}, t.from), make('td', { class: `to ${t.to}` }, t.to),
        make('td', {}, sentence(t) + (t.break_seconds !== undefined ? `, break ${length(t.break_seconds)}` : '')))));
      if (!history.length) this.rows.replaceChildren(make('tr', {}, make('td', { colspan: 4 }, 'No change of state yet.')));
    } catch {
      if (this.readSeq === seq) this.readSeq = undefined; // again with the next change
    }
  }
}

// Gauge is a rate on a bar that has its trip point at a fixed place, so that all bars can
// be compared at a glance, with a mark at what is normal.
class Gauge {
  constructor(word) {
    this.value = make('span', { class: 'value' });
    this.limit = make('span', { class: 'limit' });
    this.note = make('span', { class: 'note' });
    this.fill = make('span', { class: 'fill' });
    this.normal = make('span', { class: 'normal' });
    this.trip = make('span', { class: 'trip' });
    this.node = make('p', { class: 'gauge' },
      make('span', { class: 'line' }, make('strong', {}, word), ' ', this.value, ' ', this.limit), ' ',
      make('span', { class: 'bar', 'aria-hidden': 'true' }, this.fill, this.normal, this.trip),
      this.note);
  }

  draw(rate, trip, normal, learns, value, note) {
    say(this.value, value);
    say(this.limit, trip ? `trips at ${percent(trip)}` : learns ? 'no trip point yet' : 'no trip point');
    say(this.note, note);
    const scale = trip ? 0.75 / trip : 1;
    const place = (v) => `${Math.min(100, v * scale * 100).toFixed(1)}%`;
    this.fill.style.width = place(rate);
    show(this.trip, Boolean(trip));
    if (trip) this.trip.style.left = place(trip);
    show(this.normal, normal !== null);
    if (normal !== null) this.normal.style.left = place(normal);
    this.node.classList.toggle('near', Boolean(trip) && rate >= 0.75 * trip);
    this.node.classList.toggle('over', Boolean(trip) && rate >= trip);
  }
}
