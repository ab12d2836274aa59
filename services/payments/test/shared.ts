import assert from 'node:assert/strict'
import { before } from 'node:test'
import { suiteCleanup } from '../../../test/suite-cleanup.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

/** A fixture shared by all tests of a suite: started before the first and closed after the last. */
export function shared<T>(start: (scope: TestScope) => Promise<T>): () => T {
  const scope = suiteCleanup()
  let started: T | undefined
  before(async () => {
    started = await start(scope)
  })
  return () => {
    assert.ok(started)
    return started
  }
}
