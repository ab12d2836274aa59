import { extname } from 'node:path'

/**
 * The file that a thread or a process runs, beside the code that starts it: a source here, and in the package a bundle,
 * which `npm run pack` makes of every file of such a name.
 */
export function entryBeside(
  { filename, url }: ImportMeta,
  name: `${string}-thread` | `${string}-process`,
): URL {
  return new URL(`./${name}${extname(filename)}`, url)
}
