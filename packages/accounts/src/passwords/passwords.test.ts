import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { createPasswords } from './passwords.ts'
import { costOf, DEFAULT_COST, decoyHash } from './phc.ts'

const CHEAP = { memoryKib: 8, passes: 1, lanes: 1 }

function startPasswords(t: TestContext, cost = CHEAP) {
  const passwords = createPasswords({ cost, workers: 1 })
  t.after(() => passwords.close())
  return passwords
}

describe('passwords', () => {
  test('are hashed with argon2id, 19 MiB, two passes and one lane by default', () => {
    assert.deepEqual(DEFAULT_COST, { memoryKib: 19_456, passes: 2, lanes: 1 })
  })

  test('never match a missing or malformed hash, or one whose cost is out of bounds', async (t) => {
    const passwords = startPasswords(t)
    const [salt, hash] = ['c29tZXNhbHQwMTIzNDU2', 'A'.repeat(43)]
    const strange = [
      undefined,
      '',
      'plain',
      '$2b$10$abcdefghijklmnopqrstuv',
      `$argon2i$v=19$m=8,t=1,p=1$${salt}$${hash}`,
      `$argon2id$v=19$m=9999999,t=1,p=1$${salt}$${hash}`,
      `$argon2id$v=19$m=8,t=999,p=1$${salt}$${hash}`,
      `$argon2id$v=19$m=8,t=1,p=99$${salt}$${hash}`,
    ]

    for (const stored of strange) assert.equal(await passwords.verify(stored, 'x', 'a'), false)
  })

  test('are outdated when any part of their cost is below the current one', async (t) => {
    const hash = await startPasswords(t).hash('secret', 'a')

    assert.equal(startPasswords(t).isOutdated(hash), false)
    assert.equal(startPasswords(t, { ...CHEAP, memoryKib: 16 }).isOutdated(hash), true)
    assert.equal(startPasswords(t, { ...CHEAP, passes: 2 }).isOutdated(hash), true)
  })

  test('have a decoy hash of the same cost, which no password matches', async (t) => {
    const decoy = decoyHash(CHEAP, randomBytes)

    assert.deepEqual(costOf(decoy), CHEAP)
    assert.equal(await startPasswords(t).verify(decoy, 'anything', 'a'), false)
  })
})
