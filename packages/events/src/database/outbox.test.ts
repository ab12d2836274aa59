import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inTransaction } from '@plinth/kit/database'
import { engines, startEvents } from '../../testing/index.ts'
import { insertEvent } from './outbox.repository.ts'

for (const engine of engines)
  describe(`the outbox on ${engine.name}`, engine.options, () => {
    test('gives an event an id that begins with its time, so that ids of any version sort by it', async (t) => {
      const { clock, publish } = await startEvents(t, { url: await engine.freshUrl(t) })

      const id = await publish(1)

      assert.match(id, /^evt_[0-9a-f]{32}$/)
      assert.equal(Number.parseInt(id.slice('evt_'.length, 16), 16), clock().getTime())
    })

    test('takes an event of 19,400 bytes, and refuses a larger one with its change', async (t) => {
      const { api, clock, db } = await startEvents(t, { url: await engine.freshUrl(t) })
      const publish = (bytes: number) => {
        const data = { text: 'x'.repeat(bytes - '{"text":""}'.length) }
        const event = { type: 'thing.made', subject: 'thing-1', data, at: clock() }
        return inTransaction(db, (open) => insertEvent(open, event))
      }

      await publish(19_400)
      await assert.rejects(publish(19_401), /thing\.made of thing-1 has more than 19400 bytes/)

      assert.equal((await api.get('/api/events')).body.items.length, 1)
    })
  })
