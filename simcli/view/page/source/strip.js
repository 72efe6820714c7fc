// Numbers over time, with a cursor that follows the motion.

import { h, number } from './dom.js'

const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#d55e00', '#56b4e9', '#cc79a7', '#8a8f98', '#b59a00']
const LEFT = 62
const RIGHT = 14
const TOP = 10
const BOTTOM = 8
const MOST = 1500 // points of a curve

export class Strip {
  constructor(recording, onseek) {
    this.recording = recording
    this.groups = recording.scene.strip
    this.chosen = 0
    this.canvas = h('canvas', { className: 'curves' })
    this.tabs = h('div', { className: 'tabs', role: 'tablist' })
    this.legend = h('div', { className: 'legend' })
    this.element = h('div', { className: 'strip' }, h('div', { className: 'strip-head' }, this.tabs, this.legend), this.canvas)
    this.element.hidden = !this.groups.length
    this.cache = null
    const seek = (event) => {
      const box = this.canvas.getBoundingClientRect()
      onseek(this.timeOf(event.clientX - box.left))
    }
    this.canvas.addEventListener('pointerdown', (event) => { this.canvas.setPointerCapture(event.pointerId); seek(event) })
    this.canvas.addEventListener('pointermove', (event) => { if (event.buttons) seek(event) })
    this.fill()
  }

  fill() {
    this.tabs.replaceChildren(...(this.groups.length > 1 ? this.groups : []).map((group, k) => h('button', {
      type: 'button', role: 'tab', textContent: group.title, className: k === this.chosen ? 'on' : '',
      onclick: () => { this.choose(k) } })))
  }

  choose(k) {
    this.chosen = (k + this.groups.length) % this.groups.length
    this.cache = null
    this.fill()
    this.dirty = true
  }

  timeOf(x) {
    const { start, end } = this.recording
    const part = (x - LEFT) / (this.canvas.clientWidth - LEFT - RIGHT)
    return start + Math.min(1, Math.max(0, part)) * (end - start)
  }

  // The curves of the worlds that are seen: least and largest values of each stretch of frames, so that no peak is lost.
  curves(worlds, focus) {
    const { recording } = this
    const key = `${this.chosen} ${recording.n} ${worlds} ${focus}`
    if (this.cache?.key === key) return this.cache
    const group = this.groups[this.chosen]
    const every = Math.max(1, Math.ceil((2 * recording.n) / MOST))
    let low = Infinity
    let high = -Infinity
    const made = []
    for (const world of [...worlds.filter((one) => one !== focus), focus]) {
      group.series.forEach((series, place) => {
        const points = []
        for (let frame = 0; frame < recording.n; frame += every) {
          let least = null
          let most = null
          for (let k = frame; k < Math.min(frame + every, recording.n); k++) {
            const value = recording.series(series.index, k, world)
            if (!Number.isFinite(value)) continue
            if (least === null || value < least[1]) least = [k, value]
            if (most === null || value > most[1]) most = [k, value]
          }
          if (least === null) continue
          const both = least[0] <= most[0] ? [least, most] : [most, least]
          points.push(...(least[0] === most[0] ? [least] : both))
          low = Math.min(low, least[1])
          high = Math.max(high, most[1])
        }
        made.push({ points, colour: COLOURS[place % COLOURS.length], main: world === focus })
      })
    }
    if (!(low <= high)) [low, high] = [0, 1]
    const margin = 0.06 * (high - low) || 0.5 * Math.abs(high) || 1
    this.cache = { key, made, low: low - margin, high: high + margin }
    return this.cache
  }

  draw(time, worlds, focus) {
    if (this.element.hidden || !this.element.offsetParent) return
    const { canvas, recording } = this
    const ratio = Math.min(window.devicePixelRatio || 1, 2)
    const [width, height] = [canvas.clientWidth, canvas.clientHeight]
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio)
      canvas.height = Math.round(height * ratio)
    }
    const { made, low, high } = this.curves(worlds, focus)
    const { start, end } = recording
    const style = getComputedStyle(canvas)
    const ink = style.getPropertyValue('--ink').trim()
    const faint = style.getPropertyValue('--line').trim()
    const context = canvas.getContext('2d')
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, width, height)
    const x = (t) => LEFT + ((t - start) / (end - start || 1)) * (width - LEFT - RIGHT)
    const y = (value) => height - BOTTOM - ((value - low) / (high - low)) * (height - TOP - BOTTOM)
    context.font = '11px system-ui, sans-serif'
    context.textAlign = 'right'
    context.textBaseline = 'middle'
    for (const tick of ticks(low, high)) {
      context.strokeStyle = faint
      context.lineWidth = 1
      context.beginPath()
      context.moveTo(LEFT, Math.round(y(tick)) + 0.5)
      context.lineTo(width - RIGHT, Math.round(y(tick)) + 0.5)
      context.stroke()
      context.fillStyle = style.getPropertyValue('--soft').trim()
      context.fillText(number(tick), LEFT - 8, y(tick))
    }
    context.lineJoin = 'round'
    for (const { points, colour, main } of made) {
      context.strokeStyle = colour
      context.globalAlpha = main ? 1 : 0.28
      context.lineWidth = main ? 1.8 : 1
      context.beginPath()
      points.forEach(([frame, value], k) => context[k ? 'lineTo' : 'moveTo'](x(recording.timeOf(frame)), y(value)))
      context.stroke()
    }
    context.globalAlpha = 1
    context.strokeStyle = ink
    context.lineWidth = 1.2
    context.beginPath()
    context.moveTo(x(time), TOP - 6)
    context.lineTo(x(time), height - BOTTOM + 4)
    context.stroke()
    this.write(time, focus, context, x, y)
  }

  write(time, focus, context, x, y) {
    const group = this.groups[this.chosen]
    const frame = this.recording.frameAt(time)
    const values = group.series.map((series) => this.recording.series(series.index, frame, focus))
    values.forEach((value, place) => {
      if (!Number.isFinite(value)) return
      context.fillStyle = COLOURS[place % COLOURS.length]
      context.beginPath()
      context.arc(x(this.recording.timeOf(frame)), y(value), 3.2, 0, 2 * Math.PI)
      context.fill()
    })
    if (this.legend.childElementCount !== values.length || this.legend.dataset.group !== String(this.chosen)) {
      this.legend.dataset.group = String(this.chosen)
      this.legend.replaceChildren(...group.series.map((series, place) => h('span', { className: 'chip' },
        h('i', { style: `background:${COLOURS[place % COLOURS.length]}` }), h('span', { textContent: series.label }),
        h('b', {}))))
    }
    values.forEach((value, place) => {
      const shown = Number.isFinite(value) ? `${number(value)} ${group.unit === '1' ? '' : group.unit}` : '–'
      const target = this.legend.children[place].lastChild
      if (target.textContent !== shown) target.textContent = shown
    })
  }
}

function ticks(low, high) {
  const wanted = (high - low) / 3
  const power = 10 ** Math.floor(Math.log10(wanted))
  const step = power * [1, 2, 2.5, 5, 10].find((one) => one * power >= wanted * 0.7)
  const found = []
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Math.abs(k * step) < 1e-12 * step ? 0 : k * step)
  return found
}
