import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const FOLDERS = '{packages,services,launcher,cli,release,test,e2e,bench,deploy,docs,.ci,.github}'
const exclude = ['**/node_modules/**', '**/dist/**']

export const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

/** Every file that a document could name, relative to the root. */
export const FILES = globSync(['*', '.*', `${FOLDERS}/**/*`], { cwd: ROOT, exclude })
export const SOURCES = FILES.filter((file) => /\.(ts|tsx|js)$/.test(file))

/** Without the changelog and superseded decisions, which name removed files, and the specification, which is not ours. */
export const DOCUMENTS = FILES.filter((file) => file.endsWith('.md'))
  .filter((file) => file !== 'CHANGELOG.md' && !file.startsWith('docs/specs/'))
  .filter((file) => !/^\*\*Superseded/m.test(read(file)))

/** The text in backticks outside code blocks. */
export function namesIn(document: string): string[] {
  const prose = read(document).replace(/^```[\s\S]*?^```/gm, '')
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name)
}

/** The value of the only constant with this name, evaluated: `2 * 1024` is 2048. */
export function constant(name: string): number {
  const declared = new RegExp(`\\bconst ${name}\\b[^=]*= ([\\d_ *+.]+)$`, 'm')
  const found = SOURCES.flatMap((file) => declared.exec(read(file))?.[1] ?? [])
  const [value = ''] = found
  if (found.length !== 1) throw new Error(`${name} is declared ${found.length} times`)
  const product = (text: string) =>
    text.split('*').reduce((result, factor) => result * Number(factor.replaceAll('_', '')), 1)
  return value.split('+').reduce((sum, text) => sum + product(text), 0)
}
