import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constant, FILES, read } from './tree.ts'

const KB = 1024
const decision = (number: string) =>
  FILES.find((file) => file.startsWith(`docs/decisions/${number}-`)) ?? number
const setting = (name: string) =>
  Number(new RegExp(`^# ${name}=(\\d+)`, 'm').exec(read('.env.example'))?.[1])
const inSource = (file: string, pattern: RegExp) => Number(pattern.exec(read(file))?.[1])

/** A number in a document, its unit, and the value in the code. */
const CLAIMS: [document: string, text: RegExp, unit: number, value: () => number][] = [
  [decision('0011'), /Headers above (\d+) KB/, KB, () => constant('MAX_HEADER_BYTES')],
  [decision('0011'), /preambles above (\d+) KB/, KB, () => constant('MAX_PREAMBLE_BYTES')],
  [decision('0012'), /first (\d+) bytes/, 1, () => constant('FAMILY_BYTES')],
  [decision('0014'), /over (\d+) kB of script/, 1000, () => budget('page.js')],
  [decision('0014'), /or (\d+) kB of style/, 1000, () => budget('page.css')],
  [decision('0016'), /up to (\d+)/, 1, () => constant('MAX_MEMBERS')],
  [decision('0017'), /batches of (\d+) KB/, KB, () => constant('BATCH_BYTES')],
  [decision('0017'), /default limits are (\d+) and/, 1, () => setting('STORAGE_KEY_MAX_FILE_SIZE')],
  [decision('0017'), /limits are \d+ and (\d+) MB/, 1, () => setting('STORAGE_FULL_MAX_FILE_SIZE')],
  ['ARCHITECTURE.md', /exit code (\d+)/, 1, () => exitCode('settings')],
  ['SECURITY.md', /ES256, (\d+) minutes/, 60, () => accessTokenSeconds()],
]

for (const [document, text, unit, value] of CLAIMS)
  test(`${document}: ${text.source}`, () => {
    const claimed = text.exec(read(document).replaceAll('\n', ' '))?.[1]

    assert.equal(Number(claimed) * unit, value())
  })

function budget(file: string): number {
  const pattern = new RegExp(`'${file}': ([\\d_]+)`)
  const text = pattern.exec(read('packages/console/build.ts'))?.[1] ?? ''
  return Number(text.replaceAll('_', ''))
}

function exitCode(name: string): number {
  return inSource('packages/kit/src/http/run.ts', new RegExp(`\\b${name}: (\\d+)`))
}

function accessTokenSeconds(): number {
  return inSource('packages/accounts/src/settings.ts', /accessTokenLifetimeSeconds: (\d+)/)
}
