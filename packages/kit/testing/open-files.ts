import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** What this process has open, and with which flags; nothing where the system does not show it. */
export function openFiles(): { path: string; flags: number }[] {
  if (!existsSync('/proc/self/fd')) return []
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')
      const flags = Number.parseInt(/flags:\s+(\d+)/.exec(info)?.[1] ?? '', 8)
      return [{ path: readlinkSync(`/proc/self/fd/${descriptor}`), flags }]
    } catch {
      return [] // Closed since the folder was read.
    }
  })
}
