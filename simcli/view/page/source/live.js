// A run that goes on: what it has committed since is asked for, from where this page came.

const PERIOD = 700 // [ms]

export function follow(app) {
  const { recording } = app
  const ask = async () => {
    try {
      const answer = await fetch(`frames?from=${recording.n}`, { cache: 'no-store' })
      if (!answer.ok) throw new Error(answer.status)
      const news = await answer.json()
      const atEnd = app.state.time >= recording.end
      recording.scene.events = news.events
      for (const chunk of news.chunks) recording.append(chunk)
      if (news.chunks.length) app.grown(atEnd && !app.state.playing)
      if (news.status !== 'running') {
        app.set({ loop: true })
        app.stage.widen(news.bounds)
        return
      }
    } catch {
      return // the run has ended and nobody answers: what is here stays
    }
    setTimeout(ask, PERIOD)
  }
  setTimeout(ask, PERIOD)
}
