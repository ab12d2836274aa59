import { existsSync, readdirSync, readlinkSync } from 'node:fs'

/** The paths this process has open; none if the system does not list them. */
export function openFiles(): string[] {
  if (!existsSync('/proc/self/fd')) return []
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)]
    } catch {
      return [] // Closed since the folder was read.
    }
  })
}
