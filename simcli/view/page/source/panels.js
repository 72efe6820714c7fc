// Panels at the right: what is drawn, which worlds, from where, and the keys.

import { h, number } from './dom.js'

export const KEYS = [
  ['space', 'play or pause'], ['← →', 'one frame back or on, with shift ten'], ['Home End', 'start, end'],
  ['↑ ↓', 'faster, slower'], ['L', 'loop'], ['R', 'the camera that sees all'], ['C', 'next camera of the scene'],
  ['V', 'one world, side by side, ghosts'], ['N P', 'next world, the one before'], ['W', 'worlds: choose and sort'],
  ['O', 'what is drawn'], ['T', 'trails'], ['K', 'contacts'], ['A', 'joint axes'], ['M', 'centres of mass'],
  ['X', 'frames'], ['J', 'joints'], ['S', 'curves'], ['G', 'next group of curves'], ['D', 'dark or light'], ['?', 'these keys'],
]
export const LAYERS = [
  ['shape', 'Shapes'], ['link', 'Links'], ['joint', 'Joints'], ['spring', 'Springs'], ['axis', 'Joint axes'],
  ['mass', 'Centres of mass'], ['frame', 'Frames'],
]

export function help(scene) {
  const facts = h('dl', {}, ...scene.facts.flatMap(([name, value]) => [h('dt', { textContent: name }), h('dd', { textContent: value })]))
  const keys = h('div', { className: 'keys' }, ...KEYS.map(([key, words]) => h('div', {},
    h('span', {}, ...key.split(' ').map((one) => h('kbd', { textContent: one }))), h('span', { textContent: words }))))
  return h('div', {}, h('h2', { textContent: 'Keys' }), keys,
    h('p', { className: 'quiet', textContent: 'Drag: turn. Right button or shift: move. Wheel: nearer, to what is under the pointer.' }),
    h('h2', { textContent: 'This page' }), facts)
}

function check(label, on, change) {
  const box = h('input', { type: 'checkbox', checked: on, onchange: (event) => { change(event.target.checked); event.target.blur() } })
  return h('label', { className: 'check' }, box, h('span', { textContent: label }))
}

export function layers(app) {
  const { scene } = app.recording
  const { items, strands } = scene.drawings[0]
  const present = (layer) => [...items, ...strands].some((item) => item.layer === layer)
  const rows = LAYERS.filter(([layer]) => present(layer)).map(([layer, label]) => check(label, app.isOn(layer), (on) => {
    app.switch(layer, on)
  }))
  if (scene.hasContacts) rows.push(check('Contacts and forces', app.state.contacts, (contacts) => { app.set({ contacts }) }))
  rows.push(check('Ground', app.state.ground, (ground) => { app.set({ ground }) }))
  const trails = app.choices.map((choice) => check(choice.name, app.state.trails.includes(choice.name), (on) => {
    const others = app.state.trails.filter((name) => name !== choice.name)
    app.set({ trails: on ? [...others, choice.name] : others })
  }))
  return h('div', {}, h('h2', { textContent: 'Drawn' }), ...rows, h('h2', { textContent: 'Trails' }), ...trails)
}

export function cameras(app) {
  const names = Object.keys(app.recording.scene.cameras)
  const row = (label, name) => h('button', { type: 'button', className: 'row', textContent: label,
    onclick: () => { app.stage.resetCamera(name) } })
  const bodies = app.recording.scene.bodies
  const follow = h('select', { className: 'wide', 'aria-label': 'body that the camera follows',
    onchange: (event) => { app.set({ follow: Number(event.target.value) }); event.target.blur() } },
  h('option', { value: -1, textContent: 'nothing' }), ...bodies.map((name, k) => h('option', { value: k, textContent: name })))
  follow.value = String(app.state.follow)
  return h('div', {}, h('h2', { textContent: 'Camera' }), row('All of the motion', 'auto'), ...names.map((name) => row(name, name)),
    h('h2', { textContent: 'Follow' }), follow)
}

// A table of the worlds; a click on a heading sorts, on a row takes that world.
export class Worlds {
  constructor(app) {
    this.app = app
    this.by = -1
    this.down = false
  }

  columns() {
    const { worlds } = this.app.recording.scene
    const names = worlds[0].values.map((entry) => entry.name)
    return names.map((name, k) => ({ name, unit: worlds[0].values[k].unit, of: (world) => world.values[k].value }))
  }

  element() {
    const { app } = this
    const { worlds } = app.recording.scene
    const columns = this.columns()
    const order = worlds.map((_, k) => k)
    if (this.by >= 0) {
      const of = (k) => columns[this.by].of(worlds[k])
      order.sort((a, b) => (Number.isFinite(of(a)) ? of(a) : Infinity) - (Number.isFinite(of(b)) ? of(b) : Infinity))
    }
    if (this.down) order.reverse()
    const sort = (k) => () => {
      this.down = this.by === k && !this.down
      this.by = k
      app.refresh()
    }
    const arrow = (k) => (this.by === k ? (this.down ? ' ↓' : ' ↑') : '')
    const head = h('tr', {}, h('th', {}), h('th', { textContent: `world${arrow(-1)}`, onclick: sort(-1) }),
      ...columns.map(({ name, unit }, k) => h('th', { textContent: `${name}${arrow(k)}`, title: `${name} [${unit}]`, onclick: sort(k) })),
      h('th', { textContent: 'status' }))
    const rows = order.map((k) => {
      const box = h('input', { type: 'checkbox', checked: app.state.shown.includes(k), 'aria-label': `show world ${worlds[k].number}`,
        onclick: (event) => { event.stopPropagation() }, onchange: () => { app.toggleWorld(k) } })
      return h('tr', { className: k === app.state.focus ? 'on' : '', onclick: () => { app.focus(k) } },
        h('td', {}, box), h('td', { textContent: worlds[k].number }),
        ...columns.map(({ of }) => h('td', { textContent: number(of(worlds[k])) })),
        h('td', { textContent: worlds[k].status, className: worlds[k].failed ? 'failed' : '' }))
    })
    const modes = h('div', { className: 'modes' }, ...[['one', 'One'], ['grid', 'Side by side'], ['ghosts', 'Ghosts']].map(
      ([mode, label]) => h('button', { type: 'button', className: app.state.mode === mode ? 'on' : '', textContent: label,
        onclick: () => { app.set({ mode }) } })))
    const few = h('button', { type: 'button', className: 'row', textContent: 'Show the first 9 of this order',
      onclick: () => { app.set({ shown: order.slice(0, 9), focus: order[0], mode: app.state.mode === 'one' ? 'grid' : app.state.mode }) } })
    return h('div', {}, h('h2', { textContent: 'Worlds' }), modes, h('div', { className: 'table' },
      h('table', {}, h('thead', {}, head), h('tbody', {}, ...rows))), worlds.length > 1 ? few : null)
  }
}
