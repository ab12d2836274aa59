import { after } from 'node:test'

/**
 * Cleans up what all tests of a suite share. Must be called in the body of `describe`: a cleanup
 * registered inside `before` would run as soon as that hook ends.
 */
export function suiteCleanup() {
  const cleanups: (() => Promise<void>)[] = []
  after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  })
  return {
    after: (cleanup: () => Promise<void>) => {
      cleanups.push(cleanup)
    },
  }
}
