import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { moveDatabase, type ServiceData } from '@plinth/backup'
import { identityClient, paymentsClient, storageClient } from '@plinth/client'
import { type Migration, openDatabase } from '@plinth/kit/database'
import { postgres } from '@plinth/kit/testing'
import { freePortSettings } from '../../test/servers/free-ports.ts'
import { suiteData } from '../backups/suite-data.ts'
import { type Stack, startStack } from '../stack/stack.ts'
import { extractDataOfOneZero } from './data-1.0.ts'
import { testEnv } from './test-env.ts'

const NAMES = ['IDENTITY', 'STORAGE_FULL', 'PAYMENTS']
const PDF = new Blob(['%PDF-1.4\n%%EOF\n'], { type: 'application/pdf' })

/** Settings of one node. The nodes share the databases and the keys. */
async function onPostgres(t: TestContext) {
  const { env, folder } = await testEnv(t)
  const urls: Record<string, string> = {}
  for (const name of NAMES) urls[`${name}_DATABASE_URL`] = await postgres.freshUrl(t)
  const node = async () => ({ ...env, ...urls, ...(await freePortSettings()) })
  return { folder, env, urls, node }
}

async function start(t: TestContext, env: Record<string, string>) {
  const stack = await startStack({ env })
  t.after(() => stack.close())
  return clientsOf(stack)
}

function clientsOf(stack: Stack) {
  const urlOf = (name: string) =>
    stack.services.find(({ entry }) => entry.name === name)?.url as string
  return {
    identity: identityClient(urlOf('identity')),
    storage: storageClient(urlOf('storage-full')),
    payments: paymentsClient(urlOf('payments')),
  }
}

/** As a later version may change the tables that are read most: it adds columns and tables, and removes nothing. */
const LATER: Record<string, string> = {
  identity: 'users',
  'storage-full': 'files',
  payments: 'payments',
}

function laterMigration({ name }: ServiceData): Migration {
  return {
    name: `${name}-9999-of-the-next-version`,
    up: async (db) => {
      const table = LATER[name] as string
      await db.schema.alterTable(table).addColumn('later', 'varchar(40)').execute()
      await db.schema.createTable('later_things').addColumn('id', 'integer').execute()
    },
  }
}

/** What the first node of the next version does when it starts. */
async function migrateAhead(services: ServiceData[]): Promise<void> {
  for (const service of services) {
    if (!service.database || !(service.name in LATER)) continue
    const { url, migrations } = service.database
    await (await openDatabase(url, [...migrations, laterMigration(service)])).close()
  }
}

test('a node goes on serving beside one of the next version that has migrated the databases', {
  skip: postgres.skip,
}, async (t) => {
  const { node } = await onPostgres(t)
  const old = await node()
  const { identity, storage, payments } = await start(t, old)
  const grace = { username: 'grace', email: 'grace@example.org', password: 'a password of grace' }
  await identity.register(grace)
  await storage.register(grace)
  await identity.logIn('grace', grace.password)
  await storage.logIn('grace', grace.password)
  const { id } = await storage.files.upload(PDF, 'before.pdf')

  await migrateAhead(await suiteData(old))

  assert.equal((await identity.account.get()).email, grace.email)
  await identity.logIn('grace', grace.password)
  await identity.register({ ...grace, username: 'ada', email: 'ada@example.org' })
  await storage.files.upload(PDF, 'after.pdf')
  assert.deepEqual(await (await storage.files.download(id)).bytes(), await PDF.bytes())
  assert.equal((await storage.files.list()).length, 2)
  assert.deepEqual(await payments.payments.list(), await payments.payments.list())

  await t.test('but does not start again on them', async () => {
    await assert.rejects(
      startStack({ env: await node() }),
      /^Error: [a-z-]+: The database is newer than this version of the service: .*-9999-of-the-next-version/,
    )
  })
})

test('two nodes of this version start at once on databases of 1.0, and both serve', {
  skip: postgres.skip,
}, async (t) => {
  const { folder, env, urls, node } = await onPostgres(t)
  const expected = await extractDataOfOneZero(folder)
  const services = await suiteData({ ...env, SUITE_DATA: join(folder, 'data') })
  for (const service of services) {
    const setting = service.database?.setting ?? ''
    const url = urls[setting]
    if (url) await moveDatabase(service, url)
  }

  const nodes = await Promise.all([start(t, await node()), start(t, await node())])

  for (const { identity, storage } of nodes) {
    await identity.logIn('grace', expected.password)
    assert.equal((await identity.account.get()).email, 'grace@example.org')
    await storage.logIn('grace', expected.password)
    assert.equal((await storage.files.list()).length, 2)
  }
})

/** Made before the first version that nodes can be upgraded from one by one. */
const BEFORE = ['0003-counted-users.ts', '0006-places.ts', '0003-verified-users.ts']

test('no migration takes away what nodes of the version before still use', async () => {
  const root = join(import.meta.dirname, '../..')
  const files = await Array.fromAsync(
    glob('{packages,services}/*/src/**/migrations/*.ts', { cwd: root }),
  )
  const removing = files.filter((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return /\.(dropTable|dropColumn|renameColumn|renameTo)\(|drop (table|column)/i.test(text)
  })

  assert.ok(files.length > 20, `${files.length}`)
  assert.deepEqual(removing.map((file) => basename(file)).sort(), BEFORE.toSorted())
})
