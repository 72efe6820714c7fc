// The page: one state, and what follows from it.

import style from './style.css'
import { button, h, number } from './dom.js'
import { Recording } from './data.js'
import { Stage } from './stage.js'
import { Strip } from './strip.js'
import { Timeline } from './timeline.js'
import { Contacts, Trails } from './overlays.js'
import { Worlds, cameras, help, layers } from './panels.js'
import { press } from './keys.js'
import { follow } from './live.js'

const MODES = ['one', 'grid', 'ghosts']
const SMALL = [200, 120] // [px], width and height of a cell below which its label is the number of its world alone

class App {
  constructor(scene) {
    this.recording = new Recording(scene)
    const dark = window.matchMedia('(prefers-color-scheme: dark)').matches
    const { view } = scene
    this.state = {
      time: this.recording.start, playing: false, speed: view.speed, loop: true, mode: view.mode, shown: view.shown,
      focus: view.shown[0], layers: {}, trails: [], contacts: false, ground: true, follow: -1, strip: true, panel: '',
      theme: dark ? 'dark' : 'light',
    }
    document.documentElement.dataset.theme = this.state.theme
    this.canvas = h('canvas', { id: 'view', tabIndex: -1 })
    this.labels = h('div', { className: 'labels' })
    this.panel = h('aside', { className: 'panel', hidden: true })
    this.place = h('main', {}, this.canvas, this.labels, this.title(), this.tools(), this.panel)
    this.timeline = new Timeline(this)
    this.strip = new Strip(this.recording, (time) => { this.seek(time) })
    this.dock = h('footer', {}, this.strip.element, this.timeline.element)
    document.body.append(this.place, this.dock)
    this.choices = Trails.choices(scene)
    this.stage = new Stage(this.canvas, this.recording, this.state.theme)
    this.stage.columns = view.columns
    this.trails = new Trails(this.stage)
    this.contacts = new Contacts(this.stage)
    this.table = new Worlds(this)
    if (this.recording.n <= 1 && !scene.live) this.dock.hidden = true
    this.set({})
    this.stage.resetCamera()
    window.addEventListener('keydown', (event) => { press(this, event) })
    new ResizeObserver(() => { this.dirty = true }).observe(this.canvas)
    this.stage.controls.addEventListener('change', () => { this.dirty = true })
    this.canvas.addEventListener('dblclick', (event) => { this.pick(event) })
    if (view.play) this.set({ playing: true })
    requestAnimationFrame((now) => { this.tick(now) })
  }

  title() {
    const { scene } = this.recording
    this.facts = h('p', { className: 'facts' })
    const notes = scene.notes.map((note) => h('p', { className: 'note', textContent: note }))
    return h('header', {}, h('h1', { textContent: scene.title, title: scene.title }),
      scene.description ? h('p', { className: 'quiet', textContent: scene.description }) : null, this.facts, ...notes)
  }

  tools() {
    const open = (panel) => () => { this.set({ panel: this.state.panel === panel ? '' : panel }) }
    this.buttons = {
      worlds: button('worlds', 'worlds (W)', open('worlds')), layers: button('layers', 'what is drawn (O)', open('layers')),
      camera: button('camera', 'camera', open('camera')), strip: button('strip', 'curves (S)', () => { this.set({ strip: !this.state.strip }) }),
      theme: button('theme', 'dark or light (D)', () => { this.theme() }), help: button('help', 'keys (?)', open('help')),
    }
    this.buttons.worlds.hidden = this.recording.nWorlds < 2
    this.buttons.strip.hidden = !this.recording.scene.strip.length
    return h('nav', {}, ...Object.values(this.buttons))
  }

  // Change the state; everything that is seen follows.
  set(changes) {
    const before = this.state
    const state = { ...before, ...changes }
    if (state.mode === 'one') state.shown = [state.focus]
    else if (changes.mode && before.mode === 'one' && !changes.shown) state.shown = this.several()
    if (!state.shown.includes(state.focus)) state.focus = state.shown[0]
    this.state = state
    document.documentElement.dataset.mode = state.mode
    const { stage } = this
    stage.show(state.shown, state.mode, state.focus)
    stage.setLayers(state.layers)
    for (const ground of stage.grounds) ground.visible = state.ground
    if (changes.trails || changes.shown || changes.mode || changes.focus !== undefined) this.trails.set(state.trails)
    this.contacts.on = state.contacts
    if (changes.theme) stage.setTheme(state.theme)
    document.documentElement.dataset.theme = state.theme
    this.strip.element.hidden = !state.strip || !this.recording.scene.strip.length
    for (const [name, one] of Object.entries(this.buttons)) one.classList.toggle('on', state.panel === name || (name === 'strip' && state.strip))
    this.timeline.mark()
    if (this.state.panel || before.panel) this.refresh()
    this.dirty = true
  }

  several() {
    return this.recording.scene.worlds.map((_, k) => k).slice(0, 16)
  }

  refresh() {
    const made = { worlds: () => this.table.element(), layers: () => layers(this), camera: () => cameras(this),
      help: () => help(this.recording.scene) }[this.state.panel]
    this.panel.hidden = !made
    const top = this.panel.scrollTop
    this.panel.replaceChildren(...(made ? [made()] : []))
    this.panel.scrollTop = top
  }

  isOn(layer) {
    const { items, strands } = this.recording.scene.drawings[0]
    const drawn = [...items, ...strands].filter((item) => item.layer === layer)
    return this.state.layers[layer] ?? drawn.some((item) => item.shown ?? true)
  }

  switch(layer, on = !this.isOn(layer)) {
    this.set({ layers: { ...this.state.layers, [layer]: on } })
  }

  theme() {
    this.set({ theme: this.state.theme === 'dark' ? 'light' : 'dark' })
  }

  focus(k) {
    const shown = this.state.mode === 'one' || this.state.shown.includes(k) ? this.state.shown : [...this.state.shown, k]
    this.set({ focus: k, shown })
  }

  toggleWorld(k) {
    const { shown, mode } = this.state
    const others = shown.filter((one) => one !== k)
    const next = shown.includes(k) ? others : [...shown, k].sort((a, b) => a - b)
    if (next.length) this.set({ shown: next, mode: mode === 'one' && next.length > 1 ? 'grid' : mode })
    else this.refresh()
  }

  nextWorld(by) {
    const n = this.recording.nWorlds
    this.focus((this.state.focus + by + n) % n)
  }

  nextMode() {
    if (this.recording.nWorlds > 1) this.set({ mode: MODES[(MODES.indexOf(this.state.mode) + 1) % MODES.length] })
  }

  faster(by) {
    const { speeds } = this.recording.scene.view
    const at = speeds.findIndex((speed) => speed >= this.state.speed)
    this.set({ speed: speeds[Math.min(speeds.length - 1, Math.max(0, at + by))] })
  }

  toggleTrails() {
    const named = this.choices.filter((choice) => choice.named)
    const wanted = (named.length ? named : this.choices).map((choice) => choice.name)
    this.set({ trails: this.state.trails.length ? [] : wanted })
  }

  toggle() {
    const atEnd = this.state.time >= this.recording.end
    this.set({ playing: !this.state.playing, time: !this.state.playing && atEnd ? this.recording.start : this.state.time })
  }

  seek(time) {
    this.state.time = Math.min(this.recording.end, Math.max(this.recording.start, time))
    this.dirty = true
  }

  step(by) {
    const { recording, state } = this
    let frame = recording.frameAt(state.time)
    // Between two frames the one before is already a step back.
    if (by < 0 && state.time > recording.timeOf(frame) + 1e-9) frame += 1
    this.set({ playing: false })
    this.seek(recording.timeOf(Math.min(recording.n - 1, Math.max(0, frame + by))))
  }

  // The body under the pointer is followed from now on.
  pick(event) {
    const body = this.stage.bodyAt(event.offsetX, event.offsetY)
    this.set({ follow: body === this.state.follow ? -1 : body })
  }

  grown(last) {
    this.timeline.mark()
    if (last) this.seek(this.recording.end)
    this.dirty = true
  }

  tick(now) {
    const passed = Math.min(0.1, (now - (this.before ?? now)) / 1000)
    this.before = now
    const { state, recording, stage } = this
    if (state.playing) {
      let time = state.time + passed * state.speed
      if (time >= recording.end) {
        time = state.loop ? recording.start : recording.end
        if (!state.loop) this.set({ playing: false })
      }
      this.state.time = time
      this.dirty = true
    }
    stage.controls.update()
    if (this.dirty) this.draw()
    requestAnimationFrame((next) => { this.tick(next) })
  }

  draw() {
    this.dirty = false
    const { state, stage } = this
    this.timeline.draw()
    this.strip.draw(state.time, state.shown, state.focus) // first, because a longer legend leaves the stage less room
    stage.cell()
    stage.place(state.time)
    stage.follow(state.follow, state.focus)
    this.trails.place(state.time, this.choices)
    this.contacts.place(state.time)
    stage.draw()
    this.label()
  }

  label() {
    const { scene } = this.recording
    const { state, stage } = this
    const frame = this.recording.frameAt(state.time)
    const words = (k) => scene.worlds[k].values.filter((entry) => entry.varied).slice(0, 4)
      .map((entry) => `${entry.short} ${number(entry.value)}${entry.unit && entry.unit !== '1' ? ` ${entry.unit}` : ''}`).join('   ')
    const ended = (k) => (this.recording.isValid(frame, k) ? '' : ' · ended')
    const one = this.recording.nWorlds > 1 ? `${scene.worlds[state.focus].name}   ${words(state.focus)}` : ''
    this.facts.textContent = state.mode === 'grid' ? '' : `${one}${ended(state.focus).replace(' · ', one ? ' · ' : '')}`
    const wanted = state.mode === 'grid' ? state.shown : []
    const boxes = stage.viewports()
    document.documentElement.dataset.cells = boxes[0][2] < SMALL[0] || boxes[0][3] < SMALL[1] ? 'small' : 'wide'
    const key = JSON.stringify([wanted, boxes, state.focus, wanted.map(ended)])
    if (key === this.labelled) return
    this.labelled = key
    this.labels.replaceChildren(...wanted.map((k, place) => {
      const [x, y, width, height] = boxes[place]
      const more = `${words(k)}${ended(k)}`
      const marks = `${k === state.focus ? ' on' : ''}${ended(k) ? ' ended' : ''}`
      return h('div', { className: `cell${marks}`, style: `left:${x}px;top:${y}px;width:${width}px;height:${height}px` },
        h('span', { title: `${scene.worlds[k].name}   ${more}\ntake this world`, onclick: () => { this.focus(k) } },
          h('b', { textContent: scene.worlds[k].number }), h('small', { textContent: more })))
    }))
  }
}

function begin() {
  document.head.append(h('style', { textContent: style }))
  const raw = JSON.parse(document.getElementById('scene').textContent)
  try {
    const app = new App(raw)
    window.simcli = app // for scripts and tests
    if (raw.live) follow(app)
    document.documentElement.dataset.ready = 'yes'
  } catch (error) {
    document.body.append(h('p', { className: 'broken', textContent: `This page cannot be drawn: ${error.message}. It takes a browser with WebGL 2.` }))
    throw error
  }
}

begin()
