import { posix } from 'node:path'

/** The longest name of a file that file systems take, in bytes. */
const MAX_NAME_BYTES = 255

/** Gives every entry of an archive a name of its own, without case: some file systems see no difference. */
export function entryNames() {
  const taken = new Set<string>()
  const counted = new Map<string, number>()
  const fold = (name: string) => name.normalize('NFC').toLowerCase()
  /** `folder` is empty or ends with a slash, and is used as it is. */
  return (folder: string, given: string): string => {
    const name = harmless(given)
    const first = folder + shortened(name, '')
    const key = fold(first)
    if (!taken.has(key)) {
      taken.add(key)
      return first
    }
    for (let number = counted.get(key) ?? 2; ; number += 1) {
      const numbered = folder + shortened(name, ` (${number})`)
      if (taken.has(fold(numbered))) continue
      taken.add(fold(numbered))
      counted.set(key, number + 1)
      return numbered
    }
  }
}

/** A single name that leads nowhere else, whatever program unpacks it. */
function harmless(name: string): string {
  // On Windows a colon leads to another drive, or into a hidden stream of a file, and dots and spaces at the end are
  // dropped, after which `.. ` leads up.
  const visible = name.toWellFormed().replaceAll(/[/\\:\p{Cc}]/gu, '_')
  return /^[.\s]*$/u.test(visible) ? '_' : visible
}

/** `a.txt` with ` (2)` is `a (2).txt`. Cuts off the end of what is before the extension. */
function shortened(name: string, suffix: string): string {
  const extension = posix.extname(name)
  const ending = suffix + (Buffer.byteLength(extension) < MAX_NAME_BYTES / 2 ? extension : '')
  const stem = name.slice(0, name.length - extension.length)
  const room = MAX_NAME_BYTES - Buffer.byteLength(ending)
  if (Buffer.byteLength(stem) <= room) return stem + ending
  let end = 0
  let bytes = 0
  for (const character of stem) {
    bytes += Buffer.byteLength(character)
    if (bytes > room) break
    end += character.length
  }
  return stem.slice(0, end) + ending
}
