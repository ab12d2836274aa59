import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { propertyRuns } from '@plinth/kit/testing'
import fc from 'fast-check'
import { until } from '../../../test/until.ts'
import { storageMigrations } from '../src/database/migrations/index.ts'
import type { StorageTables } from '../src/database/tables.ts'
import { bothEngines, engines, startStorage } from './start-storage.ts'
import {
  fileIdOf,
  hangingPatch,
  locationOf,
  offsetOf,
  sha256,
  textOf,
  tusFor,
} from './tus-client.ts'

const idOf = (location: string) => location.split('/').at(-1) ?? ''

// The engines decide differently who gets a row.
for (const engine of bothEngines)
  describe(`resumable uploads at two nodes, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext) => {
      const STORAGE_FULL_DATABASE_URL = await engine.freshUrl(t)
      const first = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
      const second = await startStorage(t, first.env)
      const { db, close } = await openDatabase<StorageTables>(
        STORAGE_FULL_DATABASE_URL,
        storageMigrations,
      )
      t.after(close)
      const [here, there] = [tusFor(first.api, first.user), tusFor(second.api, first.user)]
      return { first, here, there, db, user: first.user }
    }

    test('a request at another node makes one that hangs let go within five seconds', async (t) => {
      const { first, here, there, db, user } = await start(t)
      const bytes = textOf(600_000)
      const location = locationOf(await here.create({ length: bytes.length }))
      const hanging = hangingPatch(first.api, user, {
        ...{ location, offset: 0, announced: bytes.length },
        body: bytes.subarray(0, 300_000),
      })
      await until(
        () => db.selectFrom('uploads').select('holder').executeTakeFirst(),
        (row) => row?.holder !== null,
      )

      const head = await there.head(location)
      const last = await there.patch(location, offsetOf(head), bytes.subarray(offsetOf(head)))

      assert.equal(head.status, 200)
      assert.deepEqual([last.status, offsetOf(last)], [204, bytes.length])
      assert.equal(await hanging.status, 423)
      const content = await first.api.get(`/file/download/${fileIdOf(last)}`, { token: user })
      assert.ok(content.bytes.equals(bytes))
    })

    test('a request that no other waits for keeps its upload when its hold is renewed', async (t) => {
      const { first, here, db, user } = await start(t)
      const bytes = textOf(1000)
      const location = locationOf(await here.create({ length: bytes.length }))
      const slow = hangingPatch(first.api, user, {
        ...{ location, offset: 0, announced: bytes.length },
        body: bytes.subarray(0, 500),
      })
      const heldUntil = async () =>
        Number(
          (await db.selectFrom('uploads').select('held_until_ms').executeTakeFirst())
            ?.held_until_ms ?? 0,
        )
      const claimed = await until(heldUntil, (time) => time > 0)
      await until(heldUntil, (time) => time > claimed)

      slow.write(bytes.subarray(500))

      assert.equal(await slow.status, 204)
      assert.equal(offsetOf(await here.head(location)), bytes.length)
    })

    test('a holder that does not let go is 423 with Retry-After; one that is dead is replaced', {
      tags: ['all'],
    }, async (t) => {
      const { here, there, db } = await start(t)
      const location = locationOf(await here.create({ body: textOf(10) }))
      const held = (until: number) =>
        db
          .updateTable('uploads')
          .set({ holder: 'another', held_until_ms: until })
          .where('id', '=', idOf(location))
          .execute()
      await held(Number.MAX_SAFE_INTEGER)

      const locked = await there.patch(location, 10, textOf(100).subarray(10))
      await held(1)
      const taken = await there.patch(location, 10, textOf(100).subarray(10))

      assert.deepEqual([locked.status, locked.body.code], [423, 'UPLOAD_LOCKED'])
      assert.ok(Number(locked.headers.get('retry-after')) > 0)
      assert.equal(taken.status, 204)
    })

    test('the last byte at both nodes at once makes one file', async (t) => {
      const { first, here, there, user } = await start(t)
      const location = locationOf(await here.create())

      const replies = await Promise.all([
        here.patch(location, 0, textOf(100)),
        there.patch(location, 0, textOf(100)),
      ])

      const head = await there.head(location)
      const { body } = await first.api.get('/file/list', { token: user })
      assert.deepEqual(
        body.map(({ id }: { id: number }) => id),
        [fileIdOf(head)],
      )
      for (const { status } of replies) assert.ok([204, 409, 423].includes(status), String(status))
    })
  })

type Step =
  | { kind: 'append'; size: number; at: number }
  | { kind: 'wrong offset'; size: number }
  | { kind: 'wrong checksum'; size: number }
  | { kind: 'too much' }
  | { kind: 'look' }

const size = fc.integer({ min: 1, max: 400 })
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('append' as const), size, at: fc.integer({ min: 0, max: 1 }) }),
    fc.record({ kind: fc.constant('wrong offset' as const), size }),
    fc.record({ kind: fc.constant('wrong checksum' as const), size }),
    fc.constant({ kind: 'too much' as const }),
    fc.constant({ kind: 'look' as const }),
  ),
  { maxLength: 12 },
)

for (const engine of engines)
  describe(`an upload as a model, on ${engine.name}`, engine.options, () => {
    test('whatever is sent, the service has the bytes that it acknowledged, and the file is those bytes', {
      tags: ['property'],
    }, async (t) => {
      const first = await startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) })
      const second = await startStorage(t, first.env)
      const nodes = [tusFor(first.api, first.user), tusFor(second.api, first.user)] as const
      const [tus] = nodes

      await fc.assert(
        fc.asyncProperty(steps, fc.integer({ min: 64, max: 1500 }), async (sequence, length) => {
          const bytes = textOf(length)
          const location = locationOf(await tus.create({ length }))
          let offset = 0
          for (const step of sequence) offset = await take(step, { location, bytes, offset })
          assert.equal(offsetOf(await tus.head(location)), offset)

          const last = await tus.patch(location, offset, bytes.subarray(offset))

          assert.equal(last.status, 204)
          const info = await first.api.get(`/file/info/${fileIdOf(last)}`, { token: first.user })
          assert.deepEqual([info.body.size, info.body.checksumSha256], [length, sha256(bytes)])
        }),
        { numRuns: propertyRuns(40) },
      )

      /** Returns the offset that the model expects afterwards. */
      async function take(step: Step, { location, bytes, offset }: Taken): Promise<number> {
        const part = (size: number) => bytes.subarray(offset, offset + size)
        switch (step.kind) {
          case 'append': {
            const reply = await nodes[step.at === 0 ? 0 : 1].patch(
              location,
              offset,
              part(step.size),
            )
            assert.equal(reply.status, 204)
            return offset + part(step.size).length
          }
          case 'wrong offset': {
            const reply = await tus.patch(location, offset + 1, part(step.size))
            assert.equal(reply.status, 409)
            return offset
          }
          case 'wrong checksum': {
            if (offset === bytes.length) return offset
            const checksum = { 'upload-checksum': `sha1 ${Buffer.alloc(20).toString('base64')}` }
            const reply = await tus.patch(location, offset, part(step.size), checksum)
            assert.equal(reply.status, 460)
            return offset
          }
          case 'too much': {
            const reply = await tus.patch(location, offset, textOf(bytes.length - offset + 1))
            assert.equal(reply.status, 413)
            return offset
          }
          case 'look':
            assert.equal(offsetOf(await tus.head(location)), offset)
            return offset
        }
      }
    })
  })

type Taken = { location: string; bytes: Buffer; offset: number }
