import assert from 'node:assert/strict'
import { after, before } from 'node:test'

type TestScope = { after(work: () => Promise<void> | void): void }

/** A fixture shared by all tests of a suite: started before the first and closed after the last. */
export function shared<T>(start: (scope: TestScope) => Promise<T>): () => T {
  const endings: (() => Promise<void> | void)[] = []
  let started: T | undefined
  before(async () => {
    started = await start({ after: (work) => void endings.push(work) })
  })
  after(async () => {
    for (const end of endings) await end()
  })
  return () => {
    assert.ok(started)
    return started
  }
}
