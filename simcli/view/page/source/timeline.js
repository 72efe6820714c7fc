// The time line: where the motion is, what happened when, and the buttons that move it.

import { button, h, icon } from './dom.js'

const WORDS = ['info', 'warning', 'failure']

export class Timeline {
  constructor(app) {
    this.app = app
    this.knob = h('div', { className: 'knob' })
    this.past = h('div', { className: 'past' })
    this.marks = h('div', { className: 'marks' })
    this.track = h('div', { className: 'track', role: 'slider', tabIndex: 0, 'aria-label': 'time' },
      h('div', { className: 'rail' }), this.past, this.marks, this.knob)
    this.clock = h('output', { className: 'clock' })
    this.play = button('play', 'play or pause (space)', () => { app.toggle() })
    this.loop = button('loop', 'loop (L)', () => { app.set({ loop: !app.state.loop }) })
    this.speed = h('select', { className: 'speed', title: 'speed (↑ ↓)', 'aria-label': 'speed',
      onchange: (event) => { app.set({ speed: Number(event.target.value) }); event.target.blur() } },
    ...app.recording.scene.view.speeds.map((speed) => h('option', { value: speed, textContent: `${speed}×` })))
    this.element = h('div', { className: 'transport' },
      button('first', 'start (Home)', () => { app.seek(app.recording.start) }),
      button('back', 'one frame back (←)', () => { app.step(-1) }),
      this.play,
      button('forward', 'one frame on (→)', () => { app.step(1) }),
      button('last', 'end (End)', () => { app.seek(app.recording.end) }),
      this.clock, this.track, this.speed, this.loop)
    const seek = (event) => {
      const box = this.track.getBoundingClientRect()
      const { start, end } = app.recording
      app.seek(start + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (end - start))
    }
    this.track.addEventListener('pointerdown', (event) => { this.track.setPointerCapture(event.pointerId); seek(event) })
    this.track.addEventListener('pointermove', (event) => { if (event.buttons) seek(event) })
    this.mark()
  }

  mark() {
    const { recording } = this.app
    const { events, worlds } = recording.scene
    const span = recording.end - recording.start || 1
    const shown = new Set(this.app.state?.shown ?? worlds.map((_, k) => k))
    this.marks.replaceChildren(...events.filter((event) => event.world < 0 || shown.has(event.world)).map((event) => {
      const world = event.world < 0 ? 'all worlds' : `world ${worlds[event.world].number}`
      return h('button', {
        type: 'button', tabIndex: -1, className: `mark ${WORDS[event.severity]}`,
        style: `left:${(100 * (event.time - recording.start)) / span}%`,
        title: `${event.time.toPrecision(6)} s, ${world}: ${event.text} (${event.code})`,
        onpointerdown: (pointer) => { pointer.stopPropagation(); this.app.seek(event.time) },
      })
    }))
  }

  draw() {
    const { state, recording } = this.app
    const span = recording.end - recording.start || 1
    const part = `${(100 * (state.time - recording.start)) / span}%`
    this.knob.style.left = part
    this.past.style.width = part
    const digits = Math.max(0, Math.min(4, 3 - Math.floor(Math.log10(span))))
    const text = `${state.time.toFixed(digits)} / ${recording.end.toFixed(digits)} s`
    if (this.clock.textContent !== text) this.clock.textContent = text
    this.track.setAttribute('aria-valuenow', state.time.toFixed(digits))
    const name = state.playing ? 'pause' : 'play'
    if (this.play.dataset.icon !== name) {
      this.play.dataset.icon = name
      this.play.replaceChildren(icon(name))
    }
    this.loop.classList.toggle('on', state.loop)
    this.speed.value = String(state.speed)
  }
}
