'use strict';
/** Makes the page of upgrade graphs in a document or a shadow root usable. `address` names what is shown first:
 * `#package`, `#package/bundle` or `#package/bundle/channel`. */
function graphPage(root, address) {
const SVG = 'http://www.w3.org/2000/svg';
const $ = id => root.getElementById(id);
const view = $('view'), search = $('search'), results = $('results'), select = $('package');
const sections = [...root.querySelectorAll('section.package')];
let svg = null, zoom = 1, selected = null, overlay = null, sticky = [];

const element = (name, props = {}, ...children) => {
  const made = Object.assign(document.createElement(name), props);
  made.append(...children);
  return made;
};
const rows = () => [...svg.querySelectorAll('.labels .row')];
const nodesOf = lane => [...lane.querySelectorAll('.node')];
const rowOf = node => Number(node.dataset.row);
const nodeIn = (lane, row) => lane.querySelector(`.node[data-row="${row}"]`);
const place = node => {
  const [x, y] = node.getAttribute('transform').match(/[\d.]+/g).map(Number);
  return { x, y };
};

// Packages.
function show(name) {
  sections.forEach(section => { section.hidden = section.dataset.package !== name; });
  const section = sections.find(section => !section.hidden);
  if (!section) return;
  select.value = name;
  svg = section.querySelector('svg');
  sticky = ['.channels', '.labels', '.legend'].map(name => svg.querySelector(name));
  svg.querySelectorAll('.node[data-row]').forEach(node => {
    node.setAttribute('role', 'button');
    node.setAttribute('tabindex', '-1');
  });
  const first = svg.querySelector('.node.head[data-row]') || svg.querySelector('.node[data-row]');
  if (first) first.setAttribute('tabindex', '0');
  clear();
  setZoom(zoom);
  view.scrollTo(0, 0);
}

// Zoom: the names of channels and bundles stay in view.
function setZoom(value, at) {
  const old = zoom;
  zoom = Math.min(4, Math.max(0.1, value));
  const box = svg.viewBox.baseVal;
  svg.setAttribute('width', box.width * zoom);
  svg.setAttribute('height', box.height * zoom);
  $('zoom').textContent = `${Math.round(zoom * 100)} %`;
  if (at) {
    view.scrollLeft = (view.scrollLeft + at.x) * zoom / old - at.x;
    view.scrollTop = (view.scrollTop + at.y) * zoom / old - at.y;
  }
  stick();
}
function stick() {
  if (!svg) return;
  sticky[0]?.setAttribute('transform', `translate(0 ${view.scrollTop / zoom})`);
  sticky[1]?.setAttribute('transform', `translate(${view.scrollLeft / zoom} 0)`);
  const below = (view.scrollTop + view.clientHeight) / zoom - svg.viewBox.baseVal.height;
  sticky[2]?.setAttribute('transform', `translate(${view.scrollLeft / zoom} ${Math.min(0, below)})`);
}
function fit() {
  const box = svg.viewBox.baseVal;
  setZoom(Math.min(1.5, view.clientWidth / box.width, Math.max(0.35, view.clientHeight / box.height)));
  view.scrollTo(0, 0);
}
function reveal(node) {
  const { x, y } = place(node);
  const head = Number(svg.dataset.head) * zoom, labels = Number(svg.dataset.labels) * zoom;
  const [left, top, edge, legend] = [x * zoom, y * zoom, 40, 100 * zoom];
  if (top - head - edge < view.scrollTop) view.scrollTop = top - head - edge;
  if (top + legend > view.scrollTop + view.clientHeight) view.scrollTop = top + legend - view.clientHeight;
  if (left - labels - edge < view.scrollLeft) view.scrollLeft = left - labels - edge;
  if (left + edge > view.scrollLeft + view.clientWidth) view.scrollLeft = left + edge - view.clientWidth;
}

// Selection and upgrade paths.
function clear() {
  selected?.classList.remove('selected');
  selected?.setAttribute('aria-pressed', 'false');
  svg?.querySelectorAll('.row.selected,.lane.active').forEach(item => item.classList.remove('selected', 'active'));
  svg?.classList.remove('dimmed');
  overlay?.remove();
  selected = overlay = null;
  $('selected').replaceChildren(element('p', { className: 'hint', textContent:
    'Select a bundle to see how OLM upgrades from it. Arrow keys move between bundles and channels, Home and End go to the newest and the oldest.' }));
}
function steps(node, olm) {
  const lane = node.closest('.lane'), found = [], seen = new Set([node]);
  for (let current = node; current.dataset[olm];) {
    const [, row, by] = current.dataset[olm].match(/^(\d+) (.*)$/);
    current = nodeIn(lane, row);
    if (!current || seen.has(current)) break;
    seen.add(current);
    found.push({ node: current, by });
  }
  return found;
}
function choose(node, focus = true) {
  clear();
  selected = node;
  node.classList.add('selected');
  node.setAttribute('aria-pressed', 'true');
  svg.querySelectorAll('.node[tabindex="0"]').forEach(other => other.setAttribute('tabindex', '-1'));
  node.setAttribute('tabindex', '0');
  if (focus) node.focus({ preventScroll: true });
  reveal(node);
  const lane = node.closest('.lane');
  lane.classList.add('active');
  svg.classList.add('dimmed');
  const row = rows()[rowOf(node)];
  row.classList.add('selected');
  const olm = root.querySelector('[name=olm]:checked').value;
  const path = steps(node, olm);
  draw(node, path);
  describe(node, row, lane, path, olm);
}
function draw(node, path) {
  if (!path.length) return;
  let from = place(node), d = `M${from.x} ${from.y}`;
  for (const step of path) {
    const to = place(step.node), height = Math.abs(to.y - from.y);
    const bend = height > 30 ? Math.min(6 + height / 26, 20) : 0;
    d += `Q${to.x - bend} ${from.y} ${to.x - bend} ${(from.y + to.y) / 2}T${to.x} ${to.y}`;
    from = to;
  }
  overlay = document.createElementNS(SVG, 'path');
  overlay.setAttribute('class', 'path');
  overlay.setAttribute('d', d);
  const lane = node.closest('.lane');
  lane.insertBefore(overlay, lane.querySelector('.node'));
}
const nameOf = node => rows()[rowOf(node)].dataset.name;
const link = (node, text) => element('button', { className: 'link', textContent: text, onclick: () => choose(node) });
function describe(node, row, lane, path, olm) {
  const info = element('dl');
  const add = (name, value) => value && info.append(element('dt', { textContent: name }), element('dd', { textContent: value }));
  add('Version', row.dataset.version);
  add('Channel', lane.dataset.channel);
  add('State', node.dataset.state);
  add('Image', row.dataset.image);
  add('Replaces', node.dataset.replaces);
  add('Skips', node.dataset.skips && `${node.dataset.skips} ${node.dataset.skips === '1' ? 'bundle' : 'bundles'}`);
  add('skipRange', node.dataset.range);
  const parts = [element('h2', { textContent: row.dataset.name })];
  if (row.dataset.deprecation) parts.push(element('p', { className: 'warning', textContent: `Deprecated: ${row.dataset.deprecation}` }));
  parts.push(info, element('h3', { textContent: `Upgrades with OLM ${olm}` }));
  const isHead = item => item.classList.contains('head');
  const last = path.length ? path[path.length - 1].node : node;
  // The next bundle, if the drawing is a part that does not have it.
  const [outside, ...by] = last.dataset[`${olm}Outside`]?.split(' ') ?? [];
  if (path.length || outside) {
    const list = element('ol', {}, ...path.map(step => element('li', {}, link(step.node, nameOf(step.node)), element('small', { textContent: ` ${step.by}` }))));
    if (outside) list.append(element('li', {}, outside, element('small', { textContent: ` ${by.join(' ')}` })));
    parts.push(list);
    if (outside) parts.push(element('p', { className: 'hint', textContent: 'The path continues in another part of the graph.' }));
    else parts.push(isHead(last)
      ? element('p', { className: 'hint', textContent: 'Reaches the head of the channel.' })
      : element('p', { className: 'warning', textContent: 'Does not reach the head of the channel.' }));
  } else {
    parts.push(element('p', isHead(node)
      ? { className: 'hint', textContent: 'None: it is the head of the channel.' }
      : { className: 'warning', textContent: 'None: no entry of the channel replaces or skips it.' }));
  }
  const into = nodesOf(lane).filter(other => other.dataset[olm]?.split(' ')[0] === node.dataset.row);
  if (into.length) {
    parts.push(element('h3', { textContent: 'Upgraded to it directly' }));
    parts.push(element('ul', {}, ...into.slice(0, 50).map(other => element('li', {}, link(other, nameOf(other))))));
    if (into.length > 50) parts.push(element('p', { className: 'hint', textContent: `and ${into.length - 50} more` }));
  }
  const others = [...svg.querySelectorAll(`.node[data-row="${node.dataset.row}"]`)].filter(other => other !== node);
  if (others.length) {
    parts.push(element('h3', { textContent: 'Also in' }));
    parts.push(element('ul', {}, ...others.map(other => element('li', {}, link(other, other.closest('.lane').dataset.channel)))));
  }
  $('selected').replaceChildren(...parts);
}

// Search in all packages.
let index = null, hits = [], active = 0;
function build() {
  index = [];
  for (const section of sections) {
    const name = section.dataset.package;
    section.querySelectorAll('.labels .row').forEach(row => index.push({
      section: name, row: row.dataset.row, text: row.dataset.name, note: `${row.dataset.version} · ${name}` }));
    section.querySelectorAll('.lane').forEach(lane => index.push({
      section: name, lane: lane.dataset.channel, text: lane.dataset.channel, note: `channel · ${name}` }));
    index.push({ section: name, text: name, note: 'package' });
  }
}
function find() {
  if (!index) build();
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  hits = words.length ? index.filter(item => {
    const text = `${item.text} ${item.note}`.toLowerCase();
    return words.every(word => text.includes(word));
  }).slice(0, 50) : [];
  active = 0;
  list();
}
function list() {
  results.hidden = !search.value.trim();
  search.setAttribute('aria-expanded', String(!results.hidden));
  if (!results.hidden && !hits.length) {
    results.replaceChildren(element('li', { className: 'hint', textContent: 'No match' }));
    return;
  }
  results.replaceChildren(...hits.map((hit, at) => {
    const item = element('li', { id: `hit${at}`, onmousedown: event => { event.preventDefault(); go(hit); } },
      hit.text, element('small', { textContent: hit.note }));
    item.setAttribute('role', 'option');
    item.setAttribute('aria-selected', String(at === active));
    return item;
  }));
  search.setAttribute('aria-activedescendant', hits.length ? `hit${active}` : '');
  results.children[active]?.scrollIntoView({ block: 'nearest' });
}
function go(hit) {
  results.hidden = true;
  search.setAttribute('aria-expanded', 'false');
  show(hit.section);
  const lane = hit.lane !== undefined && [...svg.querySelectorAll('.lane')].find(lane => lane.dataset.channel === hit.lane);
  const node = lane ? lane.querySelector('.node.head,.node') : hit.row !== undefined && svg.querySelector(`.node[data-row="${hit.row}"]`);
  if (node) choose(node);
}

function move(node, key) {
  const lane = node.closest('.lane'), lanes = [...svg.querySelectorAll('.lane')], nodes = nodesOf(lane);
  const at = nodes.indexOf(node);
  if (key === 'ArrowUp') return nodes[at - 1];
  if (key === 'ArrowDown') return nodes[at + 1];
  if (key === 'Home') return nodes[0];
  if (key === 'End') return nodes[nodes.length - 1];
  const step = key === 'ArrowRight' ? 1 : -1;
  const near = (a, b) => Math.abs(rowOf(a) - rowOf(node)) - Math.abs(rowOf(b) - rowOf(node));
  for (let next = lanes.indexOf(lane) + step; lanes[next]; next += step) {
    const found = nodesOf(lanes[next]).sort(near)[0];
    if (found) return found;
  }
  return undefined;
}

view.addEventListener('scroll', stick, { passive: true });
new ResizeObserver(stick).observe(view);
view.addEventListener('click', event => {
  const node = event.target.closest('.node'), row = event.target.closest('.row');
  if (node?.dataset.row !== undefined) choose(node);
  else if (row) {
    const found = svg.querySelector(`.node[data-row="${row.dataset.row}"]`);
    if (found) choose(found);
  } else clear();
});
view.addEventListener('wheel', event => {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  const box = view.getBoundingClientRect();
  setZoom(zoom * Math.exp(-event.deltaY / 300), { x: event.clientX - box.left, y: event.clientY - box.top });
}, { passive: false });
view.addEventListener('keydown', event => {
  const node = event.target.closest?.('.node');
  if (!node) return;
  if (['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key)) {
    event.preventDefault();
    const next = move(node, event.key);
    if (next) choose(next);
  } else if (event.key === 'Enter' || event.key === ' ') {
    event.preventDefault();
    choose(node);
  }
});
root.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches?.('input,select')) {
    if (event.key === 'Escape') { results.hidden = true; event.target.blur(); }
    return;
  }
  if (event.key === '/') { event.preventDefault(); search.focus(); search.select(); }
  else if (event.key === '+' || event.key === '=') setZoom(zoom * 1.2);
  else if (event.key === '-') setZoom(zoom / 1.2);
  else if (event.key === '0') fit();
  else if (event.key === 'Escape') clear();
});
search.addEventListener('input', find);
search.addEventListener('focus', () => search.value && find());
search.addEventListener('blur', () => { results.hidden = true; });
search.addEventListener('keydown', event => {
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault();
    active = Math.max(0, Math.min(hits.length - 1, active + (event.key === 'ArrowDown' ? 1 : -1)));
    list();
  } else if (event.key === 'Enter' && hits[active]) go(hits[active]);
});
select.addEventListener('change', () => show(select.value));
root.querySelectorAll('[name=olm]').forEach(input => input.addEventListener('change', () => selected && choose(selected, false)));
$('in').onclick = () => setZoom(zoom * 1.2);
$('out').onclick = () => setZoom(zoom / 1.2);
$('fit').onclick = fit;
const theme = $('theme');
if (theme) theme.onclick = () => {
  const { documentElement } = document;
  const dark = documentElement.dataset.theme ? documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  documentElement.dataset.theme = dark ? 'light' : 'dark';
};

const [first, bundle, channel] = address.slice(1).split('/').map(decodeURIComponent);
show(sections.some(section => section.dataset.package === first) ? first : sections[0]?.dataset.package);
if (svg && bundle) {
  const row = rows().find(row => row.dataset.name === bundle || row.dataset.version === bundle);
  const lane = [...svg.querySelectorAll('.lane')].find(lane => lane.dataset.channel === channel);
  const node = row && ((lane && nodeIn(lane, row.dataset.row)) || svg.querySelector(`.node[data-row="${row.dataset.row}"]`));
  if (node) choose(node);
}
}
