import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'

const LEFT_OUT = new Set(['node_modules', '.git', '.cache', 'data'])

/**
 * A copy of the tree in a temporary folder, with the installed packages linked. The project's own
 * packages are linked to the copy: linking the whole of node_modules would use the original sources.
 */
export function copyTree(root: string): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-mutate-'))
  // A test that drops root privileges must be able to read it.
  chmodSync(folder, 0o755)
  cpSync(root, folder, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) })
  mkdirSync(join(folder, 'node_modules/@plinth'), { recursive: true })
  for (const name of entriesOf(root, 'node_modules'))
    if (name !== '@plinth' && name !== '.cache') link(root, folder, join('node_modules', name))
  for (const parent of ['packages', 'services'])
    for (const name of entriesOf(root, parent)) {
      symlinkSync(join(folder, parent, name), join(folder, 'node_modules/@plinth', name))
      linkIfThere(root, folder, join(parent, name, 'node_modules'))
    }
  linkIfThere(root, folder, '.cache')
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) }
}

function entriesOf(root: string, folder: string): string[] {
  return existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : []
}

function linkIfThere(root: string, folder: string, path: string): void {
  if (existsSync(join(root, path))) link(root, folder, path)
}

function link(root: string, folder: string, path: string): void {
  symlinkSync(join(root, relative('.', path)), join(folder, path))
}
