// A run that goes on: what it has committed since is asked for, from where this page came.

const PERIOD = 700 // [ms]

export function follow(app) {
  const { recording } = app
  app.seek(recording.end) // the newest frames are shown as they come
  const ask = async () => {
    try {
      const answer = await fetch(`frames?from=${recording.n}`, { cache: 'no-store' })
      if (!answer.ok) throw new Error(answer.status)
      const news = await answer.json()
      const atEnd = app.state.time >= recording.end
      const { scene } = recording
      scene.events = news.events
      scene.force = Math.max(scene.force, news.force)
      scene.auto = news.auto
      for (const chunk of news.chunks) recording.append(chunk)
      app.stage.widen(news.bounds)
      if (news.chunks.length) app.grown(atEnd && !app.state.playing)
      document.documentElement.dataset.run = news.status
      if (news.status !== 'running') return
    } catch {
      return // the run has ended and nobody answers: what is here stays
    }
    setTimeout(ask, PERIOD)
  }
  setTimeout(ask, PERIOD)
}
