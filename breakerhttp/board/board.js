// The board: follows the server's events, keeps the tiles in order, and asks before it
// presses anything.

import { Tile, controlWords } from './tile.js';
import { nameOf, sentence } from './words.js';

const get = (id) => document.getElementById(id);
const list = get('tiles');
const live = get('live');
const news = get('news');
const states = ['open', 'isolated', 'half-open', 'recovering', 'closed'];

const tiles = new Map(); // by id
const byNode = new WeakMap();
const filter = new Set(); // the states to show; none is all
let ahead = 0; // of the server's clock
let heard = 0; // when the last event came, by the page's clock

const board = {
  controls: false,
  now: () => Date.now() + ahead,
  ask,
};

// Near the screen, a tile is drawn. The others are only kept.
const watch = new IntersectionObserver((entries) => {
  for (const entry of entries) byNode.get(entry.target)?.setVisible(entry.isIntersecting);
}, { rootMargin: '400px' });

function add(data) {
  data.hour ||= data.slot ? [data.slot] : [];
  const tile = new Tile(board, data);
  tiles.set(data.id, tile);
  byNode.set(tile.node, tile);
  list.append(tile.node);
  watch.observe(tile.node);
}

function remove(id) {
  const tile = tiles.get(id);
  if (!tile) return;
  watch.unobserve(tile.node);
  tile.node.remove();
  tiles.delete(id);
}

function change(data) {
  const tile = tiles.get(data.id);
  if (!tile) {
    add(data);
    return;
  }
  const before = tile.data.state;
  if (data.slot) keepSlot(tile.data.hour, data.slot);
  Object.assign(tile.data, data);
  tile.draw();
  if (before !== tile.data.state) changed.push(tile.data);
}

function keepSlot(hour, slot) {
  if (hour.length && hour[hour.length - 1][0] === slot[0]) hour.pop();
  hour.push(slot);
  while (hour.length && hour[0][0] <= slot[0] - 60) hour.shift();
}

let changed = [];

// take takes an event in. One with all that there is leaves no tile that is not in it.
function take(event, all) {
  heard = Date.now();
  ahead = event.now - heard;
  if (all) {
    board.controls = event.controls;
    const here = new Set(event.breakers.map((b) => b.id));
    for (const id of [...tiles.keys()]) if (!here.has(id)) remove(id);
  }
  event.breakers.forEach(change);
  event.gone.forEach(remove);
  announce();
  arrange();
  tick();
}

// announce says what has changed, to those who do not see it, and in one sentence if it is
// much.
function announce() {
  if (!changed.length) return;
  news.textContent = changed.length <= 3
    ? changed.map((b) => `${nameOf(b)} is ${b.state}${b.last ? `: ${sentence(b.last)}` : ''}.`).join(' ')
    : `${changed.length} breakers have changed; ${count('open')} are open.`;
  changed = [];
}

const count = (state) => [...tiles.values()].filter((tile) => tile.data.state === state).length;

// How bad it is, the worst first. Among the closed, those come first that are near a trip
// point; in two steps only, or they would change places all the time.
function rank(b) {
  const place = states.indexOf(b.state);
  if (place < 4) return place;
  if (!b.data) return 6;
  const near = (n, point) => point > 0 && b.calls >= b.minimum_calls && n / b.calls >= 0.75 * point;
  return near(b.failures, b.trip_point) || near(b.slow, b.slow_trip_point) ? 4 : 5;
}

const rate = (b) => (b.calls ? b.failures / b.calls : -1);

const orders = {
  worst: (a, b) => rank(a) - rank(b) || (rank(a) < 4 ? b.opens - a.opens : 0),
  changed: (a, b) => b.since - a.since,
  failures: (a, b) => rate(b) - rate(a),
  refused: (a, b) => b.refused - a.refused,
  calls: (a, b) => b.calls - a.calls,
  name: () => 0,
};

const byName = new Intl.Collator('en', { numeric: true });

function arrange() {
  const wanted = get('search').value.trim().toLowerCase();
  const order = orders[get('sort').value] || orders.worst;
  const sorted = [...tiles.values()].sort((a, b) =>
    order(a.data, b.data) || byName.compare(a.data.name, b.data.name) || byName.compare(a.data.id, b.data.id));
  let shown = 0;
  const held = list.contains(document.activeElement) ? document.activeElement : null;
  let next = list.firstElementChild;
  for (const tile of sorted) {
    const b = tile.data;
    const hidden = (filter.size > 0 && !filter.has(b.state)) || !b.name.toLowerCase().includes(wanted);
    if (tile.node.hidden !== hidden) tile.node.hidden = hidden;
    if (!hidden) shown++;
    if (tile.node === next) next = next.nextElementSibling;
    else list.insertBefore(tile.node, next);
  }
  if (held && document.activeElement !== held) held.focus({ preventScroll: true });
  get('empty').hidden = shown > 0 || !heard;
  get('empty').textContent = tiles.size ? 'No breaker is like that.' : 'There is no breaker yet.';
  drawFilters();
}

// The filters say how many there are of each, and are buttons.
const buttons = states.map((state) => {
  const button = document.createElement('button');
  button.type = 'button';
  button.dataset.state = state;
  button.setAttribute('aria-pressed', 'false');
  button.addEventListener('click', () => {
    if (!filter.delete(state)) filter.add(state);
    button.setAttribute('aria-pressed', String(filter.has(state)));
    arrange();
  });
  get('filters').append(button);
  return [state, button];
});

function drawFilters() {
  const counts = {};
  for (const { data } of tiles.values()) counts[data.state] = (counts[data.state] || 0) + 1;
  for (const [state, button] of buttons) {
    const text = `${counts[state] || 0} ${state}`;
    if (button.textContent !== text) button.textContent = text;
    button.classList.toggle('none', !counts[state]);
  }
  const bad = tiles.size - (counts.closed || 0);
  const title = bad ? `(${bad}) Breakers` : 'Breakers';
  if (document.title !== title) document.title = title;
}

// tick draws what moves by itself: countdowns, ages, and whether there is news at all.
function tick() {
  for (const tile of tiles.values()) if (tile.visible) tile.tick();
  const quiet = heard ? (Date.now() - heard) / 1000 : 0;
  const text = !heard ? 'connecting' : quiet > 5 ? `no news for ${Math.floor(quiet)} s; what you see is old` : 'live';
  if (live.textContent !== text) live.textContent = text;
  live.dataset.live = !heard ? 'waiting' : quiet > 5 ? 'lost' : 'yes';
}

// ask asks before a control is used, with the name of the breaker, because tiles move.
const dialog = get('ask');
let asked = null;

const questions = {
  'probe-now': 'The break ends now, and the next call is a probe.',
  reset: 'It closes at once, without a ramp, and takes the full load. What is normal stays known.',
  isolate: 'Every call is refused until someone resets it. It does not heal by itself.',
};

function ask(tile, control) {
  asked = { tile, control, from: document.activeElement };
  get('ask-title').textContent = `${controlWords[control]}: ${nameOf(tile.data)}`;
  get('ask-text').textContent = questions[control];
  get('ask-error').textContent = '';
  get('ask-yes').textContent = controlWords[control];
  get('ask-yes').disabled = false;
  dialog.showModal();
  get('ask-no').focus();
}

get('ask-no').addEventListener('click', () => dialog.close());
get('ask-yes').addEventListener('click', async () => {
  const { tile, control } = asked;
  get('ask-yes').disabled = true;
  try {
    const answer = await fetch(`control/${encodeURIComponent(tile.data.id)}/${control}`, { method: 'POST' });
    if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
    dialog.close();
  } catch (error) {
    get('ask-error').textContent = `Refused: ${error.message}.`;
    get('ask-yes').disabled = false;
  }
});
dialog.addEventListener('close', () => {
  // The button may have gone, now that the state has changed.
  const { from, tile } = asked;
  if (from.isConnected && !from.hidden) from.focus({ preventScroll: true });
  else tile.focus();
});

get('search').addEventListener('input', arrange);
get('sort').addEventListener('change', arrange);
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (event.target.matches('input, select')) return;
  event.preventDefault();
  get('search').focus();
});

// The browser connects again by itself, unless the server has said no; then the page does.
function connect() {
  const events = new EventSource('events');
  events.addEventListener('all', (event) => take(JSON.parse(event.data), true));
  events.addEventListener('some', (event) => take(JSON.parse(event.data), false));
  events.addEventListener('error', () => {
    if (events.readyState === EventSource.CLOSED) setTimeout(connect, 5000);
  });
}

setInterval(tick, 250);
connect();
