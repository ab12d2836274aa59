import assert from 'node:assert/strict'
import { get } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import { until } from '../../../test/until.ts'
import { openStorage } from '../src/app.ts'
import { startIssuer } from './issuer.ts'
import { replace } from './replace-file.ts'
import { engines, logIn, startStorage, type TestStorage, upload } from './start-storage.ts'
import { locationOf, metadata, textOf, tusFor } from './tus-client.ts'
import { entriesOf } from './zip-readers.ts'

/** More than the buffers between service and client take, so that the service waits in the middle of it. */
const LARGE = textOf(16_000_000)
const TEXT = { name: 'a.txt', type: 'text/plain' }

for (const engine of engines)
  describe(`ZIP archives of files that change, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext, env: Record<string, string> = {}) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const service = await startStorage(t, { STORAGE_FULL_DATABASE_URL, ...env })
      const { api, user } = service
      const store = async (bytes: Buffer, file: { name?: string; folder?: string } = {}) =>
        (await upload(api, user, { ...TEXT, bytes, ...file })).body.id as number
      const zip = async (body: object, token = user) =>
        (await api.post('/file/zip', body, { token })).body.token as string
      const open = (token: string) => api.get(`/file/zip/${token}`)
      /** Size, date and first bytes of each entry. */
      const read = async (token: string) =>
        (await entriesOf(t, (await open(token)).bytes)).map(
          ([name, size, [year, , day], , head]) => [
            ...[name, size, `${year}-${day}`],
            Buffer.from(head, 'hex').toString(),
          ],
        )
      return { ...service, store, zip, open, read }
    }

    test('after a replace, by form and by tus, and after a version was restored, content, size, date and CRC-32 are those of the current version', async (t) => {
      const { api, clock, store, zip, read } = await start(t, { STORAGE_FULL_VERSIONS: '5' })
      const id = await store(Buffer.from('first'))
      const token = await zip({ ids: [id] })
      const headers = { 'upload-metadata': metadata({ filename: 'a.txt', replaces: String(id) }) }

      const seen = [await read(token)]
      clock.advance(86_400)
      const now = await logIn(api, 'user')
      await replace(api, now, id, { bytes: Buffer.from('the second') })
      const second = await zip({ ids: [id] }, now)
      seen.push(await read(second))
      const tus = tusFor(api, now)
      await tus.patch(locationOf(await tus.create({ length: 30, headers })), 0, textOf(30))
      seen.push(await read(second))
      await api.post(`/file/${id}/versions/1/restore`, {}, { token: now })
      seen.push(await read(second))

      assert.deepEqual(seen, [
        [['a.txt', 5, '2030-1', 'first']],
        [['a.txt', 10, '2030-2', 'the second']],
        [['a.txt', 30, '2030-2', textOf(20).toString()]],
        [['a.txt', 5, '2030-2', 'first']],
      ])
    })

    test('a file in the trash is not in the archive of its folder, and is again when it was restored', async (t) => {
      const { api, user, store, zip, read } = await start(t)
      const id = await store(Buffer.from('one'), { name: '1.txt', folder: '/f' })
      await store(Buffer.from('two'), { name: '2.txt', folder: '/f' })
      const token = await zip({ ids: [id], folders: ['/f'] })
      const names = async () => (await read(token)).map(([name]) => name)

      await api.delete(`/file/${id}?restorable=true`, { token: user })
      const without = await names()
      await api.post(`/file/${id}/restore`, {}, { token: user })
      const again = await names()

      assert.deepEqual([without, again], [['f/2.txt'], ['f/1.txt', 'f/2.txt']])
    })

    test('a replace while an archive is sent: it has the old content or is cut, and never looks whole with other bytes', {
      tags: ['all'],
    }, async (t) => {
      for (const versions of ['0', '1']) {
        const service = await start(t, { STORAGE_FULL_VERSIONS: versions })
        const { api, user, store, zip } = service
        const ids = [await store(LARGE, { name: 'large.txt' }), await store(Buffer.from('old'))]
        const token = await zip({ ids })

        const { bytes, isComplete } = await downloadWith(service, token, async () => {
          // Of the same size, so that only the checksum tells them apart.
          const replies = [
            await replace(api, user, ids[0] ?? 0, { bytes: Buffer.alloc(LARGE.length, 'z') }),
            await replace(api, user, ids[1] ?? 0, { bytes: Buffer.from('new') }),
          ]
          for (const { status } of replies) assert.equal(status, 200)
        })

        // What is being read stays readable; what was still to come is there only as an earlier version.
        assert.equal(isComplete, versions === '1')
        if (!isComplete) continue
        const heads = (await entriesOf(t, bytes)).map(([, , , , head]) =>
          Buffer.from(head, 'hex').toString(),
        )
        assert.deepEqual(heads, [textOf(20).toString(), 'old'])
      }
    })

    test('a maker whom the issuer disables or erases: 404; erasure removes the tokens', async (t) => {
      const { issuer, sign, owner, deleted } = await startIssuer(t)
      const service = await start(t, {
        STORAGE_FULL_TRUSTED_ISSUER: issuer,
        STORAGE_FULL_TRUSTED_ISSUER_KEY: 'plk_test_x',
      })
      const { api, clock, env, config, store, zip, open } = service
      const theirs = await sign(clock(), {})
      const { body } = await upload(api, theirs)
      const token = await zip({ ids: [body.id], expiresInSeconds: 86_400 }, theirs)
      const own = await zip({ ids: [await store(Buffer.from('x'))], expiresInSeconds: 86_400 })
      const statusWhen = async (reply: { status: number; body: object }) => {
        Object.assign(owner, reply)
        clock.advance(60)
        return (await open(token)).status
      }
      const { storage, database } = await openStorage(config, {
        ...{ clock, log: createLogger('zip', 'silent') },
      })
      t.after(() => database.close())
      const makers = async () =>
        (await storage.db.selectFrom('zip_tokens').select('maker_id').execute()).map(
          ({ maker_id }) => maker_id,
        )

      const enabled = await statusWhen({ status: 200, body: { enabled: true } })
      const disabled = await statusWhen({ status: 200, body: { enabled: false } })
      const erased = await statusWhen({ status: 404, body: { code: 'USER_NOT_FOUND' } })
      const before = await makers()
      deleted.users.push({ id: 2, deletedAt: clock().toISOString() })
      // A new node looks for erased users at once.
      await startStorage(t, env, clock)
      await until(makers, ({ length }) => length === 1)

      assert.deepEqual([enabled, disabled, erased], [200, 404, 404])
      assert.deepEqual(new Set(before), new Set(['2', `${issuer}#2`]))
      assert.deepEqual(await makers(), ['2'])
      assert.equal((await open(own)).status, 200)
    })
  })

/** Receives the first bytes, does the work, and receives the rest, if there is one. */
async function downloadWith(
  { baseUrl }: TestStorage,
  token: string,
  work: () => Promise<void>,
): Promise<{ bytes: Buffer; isComplete: boolean }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    bytes: Buffer
    isComplete: boolean
  }>()
  const asked = get(`${baseUrl}/file/zip/${token}`, (reply) => {
    const chunks: Buffer[] = []
    reply.once('data', () => {
      reply.pause()
      work().then(() => reply.resume(), reject)
    })
    reply.on('data', (chunk: Buffer) => chunks.push(chunk))
    reply.on('error', () => {})
    reply.on('close', () => resolve({ bytes: Buffer.concat(chunks), isComplete: reply.complete }))
  })
  asked.once('error', reject)
  return promise
}
