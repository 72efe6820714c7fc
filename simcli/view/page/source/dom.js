// Elements and icons.

// Texts are always set as text, never as markup: names of a scene may hold anything.
export function h(tag, props = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value)
    else if (name in made && name !== 'list') made[name] = value
    else made.setAttribute(name, value)
  }
  made.append(...children.filter((child) => child !== null && child !== undefined))
  return made
}

const PATHS = {
  play: 'M7 4.5v15l12.5-7.5z',
  pause: 'M6.5 4.5h4v15h-4zM13.5 4.5h4v15h-4z',
  first: 'M5 5h2.4v14H5zM19 5v14L8.5 12z',
  last: 'M16.6 5H19v14h-2.4zM5 5v14l10.5-7z',
  back: 'M15.5 5v14L6 12z',
  forward: 'M8.5 5v14l9.5-7z',
  loop: 'M17 2.5l4 4-4 4V7.7H8a3.5 3.5 0 0 0-3.5 3.5v.8H2.2v-.8A5.8 5.8 0 0 1 8 5.4h9zM7 21.5l-4-4 4-4v2.8h9a3.5 3.5 0 0 0 3.5-3.5V12h2.3v.8a5.8 5.8 0 0 1-5.8 5.8H7z',
  layers: 'M12 3l10 5.3-10 5.3L2 8.3zM4.3 12.1L12 16.2l7.7-4.1 2.3 1.2-10 5.3-10-5.3z',
  worlds: 'M3 3h8v8H3zM13 3h8v8h-8zM3 13h8v8H3zM13 13h8v8h-8z',
  camera: 'M8.5 5l1.5-2h4l1.5 2H20a2 2 0 0 1 2 2v11a2 2 0 0 1-2 2H4a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2zM12 8a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zm0 2.2a2.3 2.3 0 1 1 0 4.6 2.3 2.3 0 0 1 0-4.6z',
  theme: 'M12 2a10 10 0 1 0 0 20zM12 4.2v15.6a7.8 7.8 0 0 0 0-15.6z',
  help: 'M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm-.1 14.3a1.3 1.3 0 1 1 0 2.6 1.3 1.3 0 0 1 0-2.6zM12 5.8c2.2 0 3.8 1.4 3.8 3.3 0 1.5-.9 2.3-1.7 3-.8.6-1.2 1-1.2 1.8v.7h-2v-.9c0-1.7 1-2.5 1.9-3.2.6-.5 1-.8 1-1.4 0-.8-.7-1.4-1.8-1.4-1.1 0-1.9.7-2 1.9l-2-.3c.2-2.1 1.9-3.5 4-3.5z',
  strip: 'M3 19h18v2H3zM4 14.5l4.5-6 4 4L19 4l1.7 1.2-7.9 10.4-4.1-4.1L5.6 15.8z',
}

export function icon(name) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  made.setAttribute('viewBox', '0 0 24 24')
  made.setAttribute('aria-hidden', 'true')
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
  path.setAttribute('d', PATHS[name])
  path.setAttribute('fill-rule', 'evenodd')
  made.append(path)
  return made
}

export function button(name, title, onclick) {
  return h('button', { type: 'button', className: 'icon', title, 'aria-label': title, onclick }, icon(name))
}

// A number with four digits, as people write it.
export function number(value) {
  if (!Number.isFinite(value)) return '–'
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(2).replace('e+', 'e').replace('-', '−')
  return String(Number(value.toPrecision(4))).replace('-', '−')
}

export const css = (value) => `rgb(${value.map((one) => Math.round(255 * one)).join(' ')})`
