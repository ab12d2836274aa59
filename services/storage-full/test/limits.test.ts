import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createLogger } from '@plinth/kit/logging'
import type { TestEngine } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { openStorage } from '../src/app.ts'
import { trashKeeper } from '../src/files/deletions/trash.ts'
import { followLimits } from '../src/limits/limits.ts'
import { replace, versionsOf } from './replace-file.ts'
import { bothEngines, engines, logIn, startStorage, upload } from './start-storage.ts'

const LIMITS = '/api/storage/limits'

const textOf = (length: number) => ({
  name: 'a.txt',
  type: 'text/plain',
  bytes: Buffer.alloc(length, 'a'),
})

/** As long as the keeper of the trash looks back. */
const OVERLAP_SECONDS = 600

const starts =
  (engine: TestEngine) =>
  async (t: TestContext, env: Record<string, string> = {}) =>
    startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t), ...env })

for (const engine of engines)
  describe(`limits that administrators change, on ${engine.name}`, engine.options, () => {
    const start = starts(engine)

    test('a quota applies to the next upload, is in the audit, and null returns to the settings', async (t) => {
      const { api, admin, user, clock } = await start(t, { STORAGE_FULL_USER_BYTES: '1000' })
      const token = { token: admin }

      const lowered = await api.patch(LIMITS, { userBytes: 100, versions: 3 }, token)
      const refused = await upload(api, user, textOf(101))
      const { body: usage } = await api.get('/file/usage', { token: user })
      const back = await api.patch(LIMITS, { userBytes: null }, token)
      const accepted = await upload(api, user, textOf(101))

      assert.equal(lowered.status, 200)
      const changedAt = clock().toISOString()
      assert.deepEqual(lowered.body.userBytes, { value: 100, setting: 1000, changedAt })
      assert.deepEqual(lowered.body.userFiles, { value: 0, setting: 0, changedAt: null })
      assert.deepEqual([refused.status, refused.body.code], [413, 'QUOTA_EXCEEDED'])
      assert.equal(usage.maxBytes, 100)
      assert.deepEqual(back.body.userBytes, { value: 1000, setting: 1000, changedAt: null })
      assert.equal(back.body.versions.value, 3)
      assert.equal(accepted.status, 201)
      const { body: audit } = await api.get('/api/audit?event=LIMIT_CHANGED', token)
      assert.deepEqual(
        audit.content.map((row: Record<string, unknown>) => [row.actor, row.subject, row.reason]),
        [
          ['admin', 'userBytes', '100, now 1000 as in the settings'],
          ['admin', 'versions', '0, now 3'],
          ['admin', 'userBytes', '1000, now 100'],
        ],
      )
    })

    test('the console is told how many versions are kept now, not at the start', async (t) => {
      const { api, admin } = await start(t, { STORAGE_FULL_VERSIONS: '2' })
      const versions = async () => (await api.get('/api-test/facts.json')).body.versions

      const before = await versions()
      await api.patch(LIMITS, { versions: 5 }, { token: admin })

      assert.deepEqual([before, await versions()], [2, 5])
    })

    test('what is already so is no change, and nonsense changes nothing', async (t) => {
      const { api, admin, user } = await start(t)
      const token = { token: admin }
      await api.patch(LIMITS, { userFiles: 5 }, token)

      const same = await api.patch(LIMITS, { userFiles: 5, userBytes: null }, token)
      const none = await api.patch(LIMITS, {}, token)
      const faulty = [
        { userBytes: -1 },
        { userBytes: 1.5 },
        { restorableSeconds: 0 },
        { restorableSeconds: 31_536_001 },
        { versions: 1001 },
      ]
      for (const body of faulty) {
        const reply = await api.patch(LIMITS, { userFiles: 9, ...body }, token)
        assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR'])
      }
      const denied = await api.patch(LIMITS, { userFiles: 9 }, { token: user })
      const hidden = await api.get(LIMITS, { token: user })

      assert.deepEqual(
        [same.status, none.status, denied.status, hidden.status],
        [200, 200, 403, 403],
      )
      assert.equal((await api.get(LIMITS, token)).body.userFiles.value, 5)
      const { body: audit } = await api.get('/api/audit?event=LIMIT_CHANGED', token)
      assert.equal(audit.totalElements, 1)
    })

    test('the number of versions and the time in the trash apply to what happens next', async (t) => {
      const { api, admin, user } = await start(t)
      const { body: file } = await upload(api, user, textOf(10))
      await replace(api, user, file.id, { bytes: Buffer.alloc(20, 'b') })
      const none = await versionsOf(api, user, file.id)

      await api.patch(LIMITS, { versions: 1, restorableSeconds: 60 }, { token: admin })
      await replace(api, user, file.id, { bytes: Buffer.alloc(30, 'c') })
      await replace(api, user, file.id, { bytes: Buffer.alloc(40, 'd') })
      const kept = await versionsOf(api, user, file.id)
      const { body: usage } = await api.get('/file/usage', { token: user })
      const { body } = await api.delete(`/file/${file.id}?restorable=true`, { token: user })

      assert.deepEqual([none, kept], [[2], [4, 3]])
      assert.deepEqual([usage.bytes, usage.versionBytes], [40, 30])
      assert.equal(Date.parse(body.restorableUntil) - Date.parse(body.deletedAt), 60_000)
    })

    test('a lower limit of the trash applies to what has been in it for long', async (t) => {
      const { api, config, clock } = await start(t)
      const log = createLogger('limits', 'silent')
      const { storage, database } = await openStorage(config, { clock, log })
      const live = followLimits(storage, config.limits)
      t.after(async () => {
        await live.stop()
        storage.providers.close()
        await database.close()
      })
      const keep = trashKeeper()
      const trashed = async () => {
        const { body } = await api.get('/file/deleted', { token: await logIn(api, 'user') })
        return body.content.map(({ id }: { id: number }) => id)
      }
      const ids: number[] = []
      for (const name of ['old.txt', 'new.txt']) {
        const token = await logIn(api, 'user')
        const { body: file } = await upload(api, token, { ...textOf(10), name })
        await api.delete(`/file/${file.id}?restorable=true`, { token })
        ids.unshift(file.id)
        clock.advance(2 * OVERLAP_SECONDS)
      }
      await keep(storage)
      const before = await trashed()

      const lowered = await api.patch(
        LIMITS,
        { trashBytes: 15 },
        { token: await logIn(api, 'admin') },
      )
      await live.refresh()
      await keep(storage)

      assert.equal(lowered.status, 200)
      assert.deepEqual([before, await trashed()], [ids, ids.slice(0, 1)])
    })
  })

// The engines save a change differently, and nodes read it.
for (const engine of bothEngines)
  describe(`limits that change at another node, on ${engine.name}`, engine.options, () => {
    const start = starts(engine)

    test('a change applies to other nodes, too, and after a restart', async (t) => {
      const first = await start(t)
      const { STORAGE_FULL_DATABASE_URL = '', STORAGE_FULL_MASTER_KEY = '' } = first.env
      const shared = {
        STORAGE_FULL_DATABASE_URL,
        STORAGE_FULL_MASTER_KEY,
        SUITE_DATA: first.folder,
      }
      const second = await startStorage(t, shared)
      const mostAt = async ({ api, user }: typeof first) =>
        (await api.get('/file/usage', { token: user })).body.maxFiles

      await first.api.patch(LIMITS, { userFiles: 7 }, { token: first.admin })
      assert.equal(await mostAt(first), 7)
      await until(
        () => mostAt(second),
        (most) => most === 7,
      )
      const third = await startStorage(t, shared)

      assert.equal(await mostAt(third), 7)
    })
  })
