import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { testClock } from '../../testing/clock.ts'
import { engines, type TestEngine } from '../../testing/databases/engines.ts'
import { openDatabase } from '../database/open.ts'
import { type SigningKeyTables, signingKeyMigrations } from './signing-keys.repository.ts'
import { openSigningKeys } from './signing-keys.ts'

const DAY = 86_400

async function openKeyTable(t: TestContext, engine: TestEngine) {
  const database = await openDatabase<SigningKeyTables>(
    await engine.freshUrl(t),
    signingKeyMigrations,
  )
  t.after(() => database.close())
  const clock = testClock()
  const options = {
    db: database.db,
    clock,
    masterKey: randomBytes(32),
    tokenLifetimeSeconds: 900,
  }
  return { ...options, options, openNode: () => openSigningKeys(options) }
}

for (const engine of engines) {
  describe(`signing keys on ${engine.name}`, engine.options, () => {
    test('nodes that start at once end up with one current key', async (t) => {
      const { openNode } = await openKeyTable(t, engine)

      const nodes = await Promise.all([openNode(), openNode(), openNode()])

      const current = await Promise.all(nodes.map((node) => node.current()))
      assert.equal(new Set(current.map(({ kid }) => kid)).size, 1)
      assert.equal((await nodes[0]?.published())?.length, 1)
    })

    test('a restarted node signs with the key it had', async (t) => {
      const { openNode } = await openKeyTable(t, engine)
      const before = await (await openNode()).current()

      const after = await (await openNode()).current()

      assert.equal(after.kid, before.kid)
    })

    test('the private key is stored sealed and never published', async (t) => {
      const { openNode, db } = await openKeyTable(t, engine)
      const node = await openNode()

      const [row] = await db.selectFrom('signing_keys').selectAll().execute()
      const [published] = await node.published()

      assert.match(String(row?.sealed_private_key), /^v1\./)
      assert.deepEqual(Object.keys(published ?? {}).sort(), [
        'alg',
        'crv',
        'kid',
        'kty',
        'use',
        'x',
        'y',
      ])
    })

    test('a node with another master key refuses to start', async (t) => {
      const { openNode, options } = await openKeyTable(t, engine)
      await openNode()

      await assert.rejects(openSigningKeys({ ...options, masterKey: randomBytes(32) }), {
        name: 'SealBrokenError',
      })
    })

    test('a successor is announced first, then signs on every node, and the old key verifies until its last token expires', async (t) => {
      const { openNode, clock } = await openKeyTable(t, engine)
      const [one, two] = [await openNode(), await openNode()]
      const old = await one.current()
      clock.advance(90 * DAY)

      await Promise.all([one.rotateWhenOlderThan(90 * DAY), two.rotateWhenOlderThan(90 * DAY)])
      const announced = await two.published()
      assert.equal(announced.length, 2)
      assert.equal((await one.current()).kid, old.kid)

      clock.advance(900)
      const successor = await two.current()
      assert.notEqual(successor.kid, old.kid)
      assert.equal((await one.current()).kid, successor.kid)

      clock.advance(960)
      assert.ok(await one.find(old.kid))
      clock.advance(1)
      assert.equal(await one.find(old.kid), undefined)
      await one.rotateWhenOlderThan(90 * DAY)
      assert.deepEqual(
        (await two.published()).map(({ kid }) => kid),
        [successor.kid],
      )
    })

    test('a young key is not replaced', async (t) => {
      const { openNode } = await openKeyTable(t, engine)
      const node = await openNode()

      await node.rotateWhenOlderThan(DAY)

      assert.equal((await node.published()).length, 1)
    })

    test('an unknown key id makes a node reload the keys, at most once per cooldown', async (t) => {
      const { openNode, clock, db } = await openKeyTable(t, engine)
      const node = await openNode()
      const replaceKey = async () => {
        await db.deleteFrom('signing_keys').execute()
        return (await (await openNode()).current()).kid
      }

      assert.ok(await node.find(await replaceKey()))
      const kid = await replaceKey()
      assert.equal(await node.find(kid), undefined)
      clock.advance(10)
      assert.ok(await node.find(kid))
    })

    test('a deleted key stops verifying within a second, and all nodes sign with one new key', async (t) => {
      const { openNode, clock, db } = await openKeyTable(t, engine)
      const nodes = [await openNode(), await openNode()]
      const old = await Promise.all(nodes.map((node) => node.current()))

      await db.deleteFrom('signing_keys').execute()
      clock.advance(1)

      const current = await Promise.all(nodes.map((node) => node.current()))
      const [kid = ''] = current.map((key) => key.kid)
      assert.equal(new Set([kid, ...current.map((key) => key.kid)]).size, 1)
      for (const node of nodes) {
        assert.equal(await node.find(old[0]?.kid ?? ''), undefined)
        assert.ok(await node.find(kid))
      }
    })

    test('a deleted key stops verifying when the clock is set back, too', async (t) => {
      const { openNode, clock, db } = await openKeyTable(t, engine)
      const node = await openNode()
      const { kid: old } = await node.current()
      await node.find('unknown')

      await db.deleteFrom('signing_keys').execute()
      const { kid } = await (await openNode()).current()
      clock.advance(-3_600)

      assert.ok(await node.find(kid))
      assert.equal(await node.find(old), undefined)
    })
  })
}
