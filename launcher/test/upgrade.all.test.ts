import assert from 'node:assert/strict'
import { createHash, createPrivateKey } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { identityClient, paymentsClient, storageClient, storageKeyClient } from '@plinth/client'
import { VERSION } from '@plinth/kit/database'
import { apiFor } from '@plinth/kit/testing'
import SqliteDatabase from 'better-sqlite3'
import { createAuthenticator } from '../../services/identity/test/authenticator.ts'
import { startStack } from '../stack/stack.ts'
import { checkedServices } from './checked-services.ts'
import { extractDataOfOneZero } from './data-1.0.ts'
import { failureOf, launch } from './launch.ts'
import { testEnv } from './test-env.ts'

async function dataOfOneZero(t: TestContext) {
  const { env, folder } = await testEnv(t)
  const expected = await extractDataOfOneZero(folder)
  return { env, folder, expected }
}

async function startOnDataOfOneZero(t: TestContext) {
  const { env, folder, expected } = await dataOfOneZero(t)
  const stack = await startStack({ env, only: checkedServices(t) })
  t.after(() => stack.close())
  const urlOf = (name: string) =>
    stack.services.find(({ entry }) => entry.name === name)?.publicUrl as string
  return { folder, expected, urlOf }
}

test('everything in a data folder of 1.0 is still readable', async (t) => {
  const { folder, expected, urlOf } = await startOnDataOfOneZero(t)

  await t.test('users log in with their password and their passkey', async () => {
    const identity = identityClient(urlOf('identity'))
    await identity.logIn('grace', expected.password)
    assert.equal((await identity.account.get()).email, 'grace@example.org')
    assert.equal((await identity.passkeys.list())[0]?.label, 'laptop of 1.0')

    const reply = await logInWithPasskey(urlOf('identity'), expected.passkey)
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
  })

  await t.test('files have their content, and sealed settings can be opened', async () => {
    const storage = storageClient(urlOf('storage-full'))
    await storage.logIn('grace', expected.password)
    const files = await storage.files.list()
    assert.deepEqual(files.map(({ id }) => id).sort(), [1, 2])
    for (const file of expected.files) {
      const { originalFilename, checksumSha256 } = await storage.files.get(file.id)
      const bytes = await (await storage.files.download(file.id)).bytes()
      assert.equal(originalFilename, file.originalFilename)
      assert.equal(checksumSha256, file.checksumSha256)
      assert.equal(createHash('sha256').update(bytes).digest('hex'), file.checksumSha256)
    }

    await storage.logIn('admin', 'password123123')
    const { object } = await storage.settings.config()
    assert.deepEqual([object.bucket, object.secretKeyPresent], ['files', true])
  })

  await t.test('the key-protected edition still has its file', async () => {
    const storage = storageKeyClient(urlOf('storage-key'), 'storage-local-dev-key')
    const bytes = await (await storage.files.download(expected.keyFile)).bytes()
    const { checksumSha256 } = expected.files[0]
    assert.equal(createHash('sha256').update(bytes).digest('hex'), checksumSha256)
  })

  await t.test('payments still have their state, refund and timeline', async () => {
    const payments = paymentsClient(urlOf('payments'))
    const [refunded, open] = expected.payments
    assert.partialDeepStrictEqual(await payments.payments.get(refunded.id), refunded)
    assert.partialDeepStrictEqual(await payments.refunds.get(expected.refund.id), expected.refund)
    assert.equal((await payments.payments.get(open.id)).amount, open.amount)

    const { body } = await apiFor(urlOf('payments')).get(`/api/payments/${refunded.id}/timeline`)
    assert.equal(body.refundableAmount, 600)
    assert.match(body.explanation, /was paid and 400 of 1000 eur went back in 1 refund/)
    const kinds = body.observations.map(({ kind }: { kind: string }) => kind)
    assert.deepEqual(kinds.slice(0, 2), ['checkout requested', 'session created'])
  })

  await t.test('each migrated database has a copy from before', () => {
    const copies = readdirSync(join(folder, 'data')).filter((name) => /\.before-/.test(name))
    assert.deepEqual(
      copies.sort(),
      ['identity', 'payments', 'storage-full'].map((name) => `${name}.db.before-${VERSION}`),
    )
  })
})

test('data of a newer version is refused with an error that names both versions', async (t) => {
  const { env, folder } = await dataOfOneZero(t)
  const identity = new SqliteDatabase(join(folder, 'data/identity.db'))
  identity.exec(`alter table schema_migrations add column version varchar(40);
    insert into schema_migrations values ('identity-0099-of-the-future', '9.8.7')`)
  identity.close()

  const { exitCode, errors } = await failureOf(launch(t, { env, folder }))

  assert.equal(exitCode, 69)
  assert.match(errors, new RegExp(`of Plinth 9\\.8\\.7, and this is ${VERSION}`))
})

async function logInWithPasskey(
  url: string,
  passkey: { id: string; privateKey: string; userHandle: string },
) {
  const api = apiFor(url)
  const { body: csrf } = await api.get('/webauthn/csrf')
  const headers = { [csrf.headerName]: csrf.token as string }
  const { body } = await api.post('/webauthn/authenticate/options', undefined, { headers })
  const credential = createAuthenticator(url).get(body, {
    ...passkey,
    signWith: createPrivateKey(passkey.privateKey),
    counter: 1,
  })
  return api.post('/login/webauthn', credential, { headers })
}
