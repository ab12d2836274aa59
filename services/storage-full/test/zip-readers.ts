import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { debianProgram } from '../../../test/servers/debian.ts'
import { temporaryFolder } from './start-storage.ts'

const run = promisify(execFile)
const OUTPUT = { maxBuffer: 2 ** 28 }

/** Lists and checks with the Python library, which compares every checksum. */
const PYTHON = `
import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
print(json.dumps([[i.filename, i.file_size, i.flag_bits] for i in archive.infolist()]))
`

type ReadEntry = { name: string; size: number; flags: number }

/** The programs that must read every archive without a complaint. Each throws what it complains about. */
export async function readArchive(path: string): Promise<ReadEntry[]> {
  const [{ stdout }] = await Promise.all([
    run('python3', ['-c', PYTHON, path], OUTPUT),
    complainUnlessSound('unzip', 'unzip', ['-tqq', path]),
    complainUnlessSound('7zz', '7zip', ['t', '-bso0', path]),
  ])
  const entries = JSON.parse(stdout) as [string, number, number][]
  return entries.map(([name, size, flags]) => ({ name, size, flags }))
}

async function complainUnlessSound(name: string, packageName: string, args: string[]) {
  const { path: program, env } = await debianProgram(name, packageName)
  const checked = await run(program, args, { ...OUTPUT, env })
  // 7-Zip warns on the same channel, and succeeds.
  if (checked.stderr.trim() !== '') throw new Error(`${name}: ${checked.stderr}`)
}

/** Why these programs cannot run on this machine, or `false`. */
export async function readersMissing(): Promise<string | false> {
  try {
    await run('python3', ['--version'])
    await Promise.all([debianProgram('unzip'), debianProgram('7zz', '7zip')])
    return false
  } catch (error) {
    return `no readers of archives: ${(error as Error).message}`
  }
}

/** Reads an archive with the Python library: its entries with their first bytes, after their checksums were compared. */
const READ = `
import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
print(json.dumps({'bad': archive.testzip(), 'entries': [
  [i.filename, i.file_size, i.date_time, i.flag_bits, archive.read(i)[:20].hex()]
  for i in archive.infolist()]}))
`

export async function entriesOf(t: TestContext, bytes: Buffer) {
  const path = join(await temporaryFolder(t), 'archive.zip')
  await writeFile(path, bytes)
  const { stdout } = await run('python3', ['-c', READ, path])
  const { bad, entries } = JSON.parse(stdout)
  assert.equal(bad, null)
  return entries as [string, number, number[], number, string][]
}
