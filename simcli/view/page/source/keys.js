// The keyboard.

export function press(app, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || ['INPUT', 'SELECT', 'TEXTAREA'].includes(event.target.tagName)) return
  const act = {
    ' ': () => { app.toggle() },
    arrowleft: () => { app.step(event.shiftKey ? -10 : -1) },
    arrowright: () => { app.step(event.shiftKey ? 10 : 1) },
    arrowup: () => { app.faster(1) },
    arrowdown: () => { app.faster(-1) },
    home: () => { app.seek(app.recording.start) },
    end: () => { app.seek(app.recording.end) },
    l: () => { app.set({ loop: !app.state.loop }) },
    r: () => { app.stage.resetCamera('auto') },
    c: () => { app.stage.nextCamera() },
    v: () => { app.nextMode() },
    n: () => { app.nextWorld(1) },
    p: () => { app.nextWorld(-1) },
    w: () => { app.set({ panel: app.state.panel === 'worlds' ? '' : 'worlds' }) },
    o: () => { app.set({ panel: app.state.panel === 'layers' ? '' : 'layers' }) },
    t: () => { app.toggleTrails() },
    k: () => { app.set({ contacts: !app.state.contacts }) },
    a: () => { app.switch('axis') },
    m: () => { app.switch('mass') },
    x: () => { app.switch('frame') },
    j: () => { app.switch('joint') },
    s: () => { app.set({ strip: !app.state.strip }) },
    g: () => { app.strip.choose(app.strip.chosen + 1); app.dirty = true },
    d: () => { app.theme() },
    '?': () => { app.set({ panel: app.state.panel === 'help' ? '' : 'help' }) },
    escape: () => { app.set({ panel: '' }) },
  }[event.key.toLowerCase()]
  if (!act) return
  event.preventDefault()
  act()
}
