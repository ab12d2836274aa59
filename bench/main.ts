/**
 * `npm run bench` measures everything, `npm run bench -- kit storage-full/lists` only these parts.
 * `--write` also writes the results to docs/performance.md. Exits 1 if a target is missed.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Part, Row } from './harness/row.ts'
import { SECONDS } from './harness/settings.ts'
import { crowd as identityCrowd } from './identity/crowd.ts'
import { growth } from './identity/growth.ts'
import { logins } from './identity/logins.ts'
import { observed } from './identity/observed.ts'
import { openid } from './identity/openid.ts'
import { openidGrowth } from './identity/openid-growth.ts'
import { profile } from './identity/profile.ts'
import { kit } from './kit/kit.ts'
import { start } from './kit/start.ts'
import { crowd as paymentsCrowd } from './payments/crowd.ts'
import { events } from './payments/events.ts'
import { payments } from './payments/payments.ts'
import { onPostgres } from './postgres/databases.ts'
import { files as postgresFiles } from './postgres/files.ts'
import { nodes } from './postgres/nodes.ts'
import { payments as postgresPayments } from './postgres/payments.ts'
import { sessions } from './postgres/sessions.ts'
import { users } from './postgres/users.ts'
import { withLines } from './report/performance-page.ts'
import { type Line, lineOf, tableOf } from './report/table.ts'
import { downloads } from './storage/full/downloads.ts'
import { lists as fullLists } from './storage/full/lists.ts'
import { local } from './storage/full/local.ts'
import { memory as fullMemory } from './storage/full/memory.ts'
import { object } from './storage/full/object.ts'
import { pictures } from './storage/full/pictures.ts'
import { resumable, resumableObject } from './storage/full/resumable.ts'
import { search } from './storage/full/search.ts'
import { small as fullSmall } from './storage/full/small.ts'
import { thumbnails } from './storage/full/thumbnails.ts'
import { zip } from './storage/full/zip.ts'
import { large } from './storage/key/large.ts'
import { lists as keyLists } from './storage/key/lists.ts'
import { memory as keyMemory } from './storage/key/memory.ts'
import { small as keySmall } from './storage/key/small.ts'

const PAGE = join(import.meta.dirname, '../docs/performance.md')

/** In the order of the table. */
const PARTS: Record<string, Part> = {
  kit,
  start,
  'identity/profile': profile,
  'identity/observed': observed,
  'identity/logins': logins,
  'identity/growth': growth,
  'identity/crowd': identityCrowd,
  'identity/openid': openid,
  'identity/openid-growth': openidGrowth,
  'storage-full/local': local,
  'storage-full/resumable': resumable,
  'storage-full/tus-object': resumableObject,
  'storage-full/object': object,
  'storage-full/small': fullSmall,
  'storage-full/downloads': downloads,
  'storage-full/lists': fullLists,
  'storage-full/search': search,
  'storage-full/thumbnails': thumbnails,
  'storage-full/pictures': pictures,
  'storage-full/zip': zip,
  'storage-full/memory': fullMemory,
  'storage-key/large': large,
  'storage-key/small': keySmall,
  'storage-key/lists': keyLists,
  'storage-key/memory': keyMemory,
  payments,
  'payments/crowd': paymentsCrowd,
  events,
  'postgres/sessions': onPostgres(sessions),
  'postgres/users': onPostgres(users),
  'postgres/files': onPostgres(postgresFiles),
  'postgres/payments': onPostgres(postgresPayments),
  'postgres/nodes': onPostgres(nodes),
}

if (process.argv.includes('--help')) {
  console.log('usage: npm run bench -- [PART …] [--write]')
  console.log(`Parts: ${Object.keys(PARTS).join(', ')}`)
  process.exit(0)
}

const measured = new Map<string, Line[]>()
for (const name of wantedParts(process.argv.slice(2).filter((word) => word !== '--write'))) {
  process.stderr.write(`${name} …\n`)
  const rows = await run(name, PARTS[name] as Part)
  measured.set(
    name,
    rows.map((row) => lineOf(name, row, conditions())),
  )
  if (rows.some(({ met }) => met === false)) process.exitCode = 1
}

console.log(tableOf([...measured.values()].flat()))
if (process.argv.includes('--write'))
  writeFileSync(PAGE, withLines(readFileSync(PAGE, 'utf8'), Object.keys(PARTS), measured))

/** A name selects itself and the parts below it: `storage-key` selects all four. */
function wantedParts(names: string[]): string[] {
  const parts = Object.keys(PARTS)
  const isBelow = (part: string, name: string) => part === name || part.startsWith(`${name}/`)
  const unknown = names.filter((name) => !parts.some((part) => isBelow(part, name)))
  if (unknown.length > 0) {
    console.error(`✖ There is no part ${unknown.join(', ')}. Known: ${parts.join(', ')}.`)
    process.exit(64)
  }
  return parts.filter((part) => names.length === 0 || names.some((name) => isBelow(part, name)))
}

/** A part that throws is reported as missed, and the others still run. */
async function run(name: string, part: Part): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'))
  try {
    return await part(folder)
  } catch (error) {
    console.error(`✖ ${name}:`, error)
    return [{ what: 'could not be measured', ours: '', met: false }]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function conditions(): string {
  const date = new Date().toISOString().slice(0, 10)
  const machine = `${process.arch}, ${availableParallelism()} cores`
  return `${date}, ${machine}, Node ${process.versions.node}, turns of ${SECONDS} s`
}
