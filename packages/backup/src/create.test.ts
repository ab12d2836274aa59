import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { type Migration, openDatabase } from '@plinth/kit/database'
import { systemClock } from '@plinth/kit/runtime'
import { sealText } from '@plinth/kit/tokens'
import { MAX_ROW } from './archive/bounds.ts'
import { writeBackup } from './create.ts'

const SEALED = { secrets: { secret: true } } as const

const migrations: Migration[] = [
  {
    name: 'test-0001-secrets',
    up: async (db) => {
      await db.schema.createTable('secrets').addColumn('secret', 'text').execute()
    },
  },
]

/** A service whose one table holds `secret`, and that is given `key`. */
async function backUp(t: TestContext, secret: string, key: Buffer) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-create-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const url = `sqlite:${join(folder, 'a.db')}`
  const { db, close } = await openDatabase<{ secrets: { secret: string } }>(url, migrations)
  await db.insertInto('secrets').values({ secret }).execute()
  await close()
  const database = { url, setting: 'A_DATABASE_URL', migrations, sealed: SEALED }
  const service = { name: 'a', keys: { A_MASTER_KEY: key }, database }
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  return writeBackup([service], nowhere, { clock: systemClock })
}

test('data sealed with another key than the one given is not backed up', async (t) => {
  const [own, other] = [randomBytes(32), randomBytes(32)]
  const sealed = String(sealText(own, 'secret', 'text'))

  const { services } = await backUp(t, sealed, own)

  assert.match(services.a?.keyFingerprints.A_MASTER_KEY ?? '', /^[0-9a-f]{16}$/)
  await assert.rejects(backUp(t, sealed, other), {
    reason: 'refused',
    message: /^A_MASTER_KEY is not the key of the data of a: Sealed with key /,
  })
})

test('a row that no restore would accept ends the backup, and the part is named', async (t) => {
  await assert.rejects(backUp(t, 'x'.repeat(MAX_ROW), randomBytes(32)), {
    reason: 'refused',
    message: 'db/a/secrets/000001.ndjson would hold a row that no restore accepts.',
  })
})
