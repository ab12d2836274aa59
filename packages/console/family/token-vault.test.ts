import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TokenPair } from '@plinth/client'
import type { Reply } from './api/api.ts'
import { createTokenVault } from './token-vault.ts'

const pair = (number: number): TokenPair => ({
  accessToken: `access-${number}`,
  refreshToken: `refresh-${number}`,
  tokenType: 'Bearer',
  expiresInSeconds: 30,
  refreshTokenExpiresInSeconds: 60,
})

function vaultThatCounts() {
  const sent: string[] = []
  const rotate = async (refreshToken: string) => {
    sent.push(refreshToken)
    return { ok: true, status: 200, body: pair(sent.length + 1) } as Reply<TokenPair>
  }
  return { sent, vault: createTokenVault(rotate, () => {}) }
}

test('callers that refresh at the same time share one request', async () => {
  const { sent, vault } = vaultThatCounts()
  vault.put(pair(1))

  const results = await Promise.all([vault.refresh(), vault.refresh(), vault.refresh()])

  assert.deepEqual(results, [true, true, true])
  assert.deepEqual(sent, ['refresh-1'])
  assert.equal(vault.accessToken(), 'access-2')
})

test('the next refresh uses the next token', async () => {
  const { sent, vault } = vaultThatCounts()
  vault.put(pair(1))

  await vault.refresh()
  await vault.refresh()

  assert.deepEqual(sent, ['refresh-1', 'refresh-2'])
  assert.equal(vault.spentRefreshToken(), 'refresh-2')
})

test('without a session there is nothing to refresh', async () => {
  const { sent, vault } = vaultThatCounts()

  assert.equal(await vault.refresh(), false)
  assert.deepEqual(sent, [])
})
