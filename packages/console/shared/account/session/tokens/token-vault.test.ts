import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TokenPair } from '@plinth/client'
import type { Reply } from '../../../api/api.ts'
import { createTokenVault } from './token-vault.ts'

const pair = (number: number): TokenPair => ({
  accessToken: `access-${number}`,
  refreshToken: `refresh-${number}`,
  tokenType: 'Bearer',
  expiresInSeconds: 30,
  refreshTokenExpiresInSeconds: 60,
})

function countingVault() {
  const sent: string[] = []
  const rotate = async (refreshToken: string) => {
    sent.push(refreshToken)
    return { ok: true, status: 200, body: pair(sent.length + 1) } as Reply<TokenPair>
  }
  return { sent, vault: createTokenVault(rotate, () => {}) }
}

test('callers that refresh at the same time share one request', async () => {
  const { sent, vault } = countingVault()
  vault.put(pair(1))

  const results = await Promise.all([vault.refresh(), vault.refresh(), vault.refresh()])

  assert.deepEqual(results, [true, true, true])
  assert.deepEqual(sent, ['refresh-1'])
  assert.equal(vault.accessToken(), 'access-2')
})

test('the next refresh uses the next token', async () => {
  const { sent, vault } = countingVault()
  vault.put(pair(1))

  await vault.refresh()
  await vault.refresh()

  assert.deepEqual(sent, ['refresh-1', 'refresh-2'])
  assert.equal(vault.spentRefreshToken(), 'refresh-2')
})

test('without a session there is nothing to refresh', async () => {
  const { sent, vault } = countingVault()

  assert.equal(await vault.refresh(), false)
  assert.deepEqual(sent, [])
})

test('a refresh does not restore a session that ended in the meantime', async () => {
  const { vault } = countingVault()
  vault.put(pair(1))

  const refreshing = vault.refresh()
  vault.put(undefined)
  await refreshing

  assert.equal(vault.accessToken(), undefined)
})

/** Answers logouts with these statuses, and all further ones with 200. */
function logoutThatAnswers(...statuses: number[]) {
  const named: string[] = []
  const logOut = async (refreshToken: string) => {
    named.push(refreshToken)
    const status = statuses.shift() ?? 200
    return { ok: status === 200, status } as Reply
  }
  return { named, logOut }
}

test('a logout with an expired access token is sent again with the new refresh token', async () => {
  const { vault } = countingVault()
  const { named, logOut } = logoutThatAnswers(401)
  vault.put(pair(1))

  const reply = await vault.end(logOut)

  assert.equal(reply?.status, 200)
  assert.deepEqual(named, ['refresh-1', 'refresh-2'])
  assert.equal(vault.accessToken(), undefined)
})

test('a logout waits for a refresh in flight', async () => {
  const { vault } = countingVault()
  const { named, logOut } = logoutThatAnswers()
  vault.put(pair(1))

  await Promise.all([vault.refresh(), vault.end(logOut)])

  assert.deepEqual(named, ['refresh-2'])
  assert.equal(vault.accessToken(), undefined)
})

test('a logout whose token was refreshed meanwhile is sent again', async () => {
  const { vault } = countingVault()
  const { named, logOut } = logoutThatAnswers()
  vault.put(pair(1))

  await vault.end(async (refreshToken) => {
    if (named.length === 0) await vault.refresh()
    return logOut(refreshToken)
  })

  assert.deepEqual(named, ['refresh-1', 'refresh-2'])
  assert.equal(vault.accessToken(), undefined)
})

test('the tokens are kept when a logout fails, and discarded when the session is over', async () => {
  const over = async () => ({ ok: false, status: 401 }) as Reply<TokenPair>
  const vault = createTokenVault(over, () => {})
  const { logOut } = logoutThatAnswers(503, 401)
  vault.put(pair(1))

  await vault.end(logOut)
  assert.equal(vault.accessToken(), 'access-1')
  await vault.end(logOut)

  assert.equal(vault.accessToken(), undefined)
})
