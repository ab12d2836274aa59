import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { preloads } from '@plinth/kit/testing'
import { bundledPlinth } from '../../test/servers/bundles.ts'
import { answerOf } from '../plinth.ts'

const MAIN = join(import.meta.dirname, '../main.js')

type Surroundings = {
  cwd?: string
  env?: Record<string, string | undefined>
  input?: string
  /** The encoding of stdout, if it is not text. */
  encoding?: BufferEncoding
  main?: string
  /** Closes the pipe of stdout without reading it. */
  unread?: boolean
}
export type Ended = {
  code: number | null
  stdout: string
  stderr: string
  signal?: NodeJS.Signals | null
}

/** Runs the command in its own process, as a user would. */
export async function plinth(
  words: string[],
  {
    cwd = tmpdir(),
    env = {},
    input = '',
    main = MAIN,
    encoding = 'utf8',
    unread,
  }: Surroundings = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [...preloads(), main, ...words], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    timeout: 120_000,
  })
  child.stdin.end(input)
  if (unread) child.stdout.destroy()
  const [stdout, stderr, [code, signal]] = await Promise.all([
    unread ? '' : buffer(child.stdout).then((bytes) => bytes.toString(encoding)),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code, stdout, stderr, signal }
}

/** Runs the command until it kills itself with SIGKILL at a fail point. */
export async function killedAt(point: string, words: string[], env: Record<string, string>) {
  const { main } = await bundledPlinth()
  const ended = await plinth(words, { env: { ...env, FAIL_POINT: `${point}=kill` }, main })
  if (ended.signal !== 'SIGKILL') throw new Error(`${point}: ${ended.code} ${ended.stderr}`)
}

/** Runs the command in this process, when it needs none of its own: loading it takes half a second. */
export async function plinthHere(
  words: string[],
  { cwd = tmpdir(), env = {} }: Omit<Surroundings, 'input'> = {},
): Promise<Ended> {
  const before = process.cwd()
  process.chdir(cwd)
  try {
    const ended = await answerOf(words, { ...env })
    if (ended === undefined) throw new Error(`${words.join(' ')} keeps running`)
    const { code, stdout = '', stderr = '' } = ended
    return { code, stdout: stdout && `${stdout}\n`, stderr: stderr && `${stderr}\n` }
  } finally {
    process.chdir(before)
  }
}

/** Like `plinthHere`, but throws on a non-zero exit code. */
export async function plinthSucceeds(
  words: string[],
  surroundings: Omit<Surroundings, 'input'>,
): Promise<Ended> {
  const ended = await plinthHere(words, surroundings)
  if (ended.code === 0) return ended
  throw Object.assign(new Error(ended.stderr), ended)
}

export function temporaryFolder(t: { after(work: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-cli-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
