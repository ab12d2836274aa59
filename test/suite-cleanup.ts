import { after } from 'node:test'

type Cleanup = () => unknown

/**
 * Cleans up what all tests of a suite share, the last first. Must be called in the body of `describe`: a cleanup
 * registered inside `before` would run as soon as that hook ends.
 */
export function suiteCleanup(): { after(cleanup: Cleanup): void } {
  const cleanups: Cleanup[] = []
  after(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  })
  return { after: (cleanup) => void cleanups.push(cleanup) }
}
