import type { TestContext } from 'node:test'

/** The processor time of one event loop turn; other programs do not count. */
export function watchTurns(t: TestContext) {
  let [longest, before, watching] = [0, process.threadCpuUsage(), true]
  const turn = () => {
    const now = process.threadCpuUsage()
    longest = Math.max(longest, now.user + now.system - before.user - before.system)
    before = now
    if (watching) setImmediate(turn)
  }
  setImmediate(turn)
  t.after(() => {
    watching = false
  })
  return {
    longestMs: () => {
      const ms = longest / 1000
      longest = 0
      return ms
    },
  }
}
