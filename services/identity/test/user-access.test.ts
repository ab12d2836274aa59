import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { TestEngine } from '@plinth/kit/testing'
import { commandLine } from './command-line.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, engines, startWithAlice } from './start-identity.ts'

/** Alice with two sessions and a passkey, and an administrator. */
async function startWithAccess(t: TestContext, engine: TestEngine) {
  const started = await startWithAlice(t, { engine })
  const { api, token, userId } = started
  const { body: other } = await api.post('/api/auth/login', ALICE)
  const passkeys = await startPasskeyClient(api)
  await passkeys.register(token)
  const admin = await adminToken(api)
  const list = async (what: 'sessions' | 'passkeys', as = admin) =>
    (await api.get(`/api/users/${userId}/${what}`, { token: as })).body
  const remove = async (path: string, as = admin) =>
    (await api.deleteWith(`/api/users/${path}`, { reason: 'asked for' }, { token: as })).status
  return { ...started, other, passkeys, admin, list, remove }
}

type Row = Record<string, string | number | null>

for (const engine of engines) {
  describe(`the sessions and passkeys of a user on ${engine.name}`, engine.options, () => {
    test('are listed for an administrator in the same way as for their owner', async (t) => {
      const { api, token, list } = await startWithAccess(t, engine)
      const own = async (what: string) => (await api.get(`/api/users/me/${what}`, { token })).body

      const notCurrent = (await own('sessions')).map((row: Row) => ({ ...row, current: false }))
      assert.equal(notCurrent.length, 2)
      assert.deepEqual(await list('sessions'), notCurrent)
      assert.deepEqual(await list('passkeys'), await own('passkeys'))
    })

    test('are ended and removed one by one, or all together', async (t) => {
      const { api, other, userId, passkeys, list, remove } = await startWithAccess(t, engine)
      const [{ id: sessionId }] = await list('sessions')
      const [{ id: passkeyId }] = await list('passkeys')

      assert.equal(await remove(`${userId}/sessions/${sessionId}`), 204)
      assert.equal(await remove(`${userId}/sessions/${sessionId}`), 404)
      assert.equal((await list('sessions')).length, 1)
      assert.equal(await remove(`${userId}/passkeys/${passkeyId}`), 204)
      assert.equal(await remove(`${userId}/passkeys/${passkeyId}`), 404)
      assert.equal((await passkeys.logIn()).status, 401)
      assert.equal(await remove(`${userId}/sessions`), 204)
      assert.equal(await remove(`${userId}/passkeys`), 204)
      assert.deepEqual([await list('sessions'), await list('passkeys')], [[], []])
      const { refreshToken } = other
      assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 401)
    })

    test("are 404 under another user's id", async (t) => {
      const { userId, list, remove, token, api, admin } = await startWithAccess(t, engine)
      const [{ id: sessionId }] = await list('sessions')
      const [{ id: passkeyId }] = await list('passkeys')
      const { body: me } = await api.get('/api/users/me', { token: admin })

      assert.equal(await remove(`${me.id}/sessions/${sessionId}`), 404)
      assert.equal(await remove(`${me.id}/passkeys/${passkeyId}`), 404)
      assert.equal(await remove(`${me.id}/passkeys/%00`), 404)
      for (const id of ['999', 'x', '0'])
        for (const path of ['sessions', 'sessions/1', 'passkeys', 'passkeys/x'])
          assert.equal(await remove(`${id}/${path}`), 404, path)
      assert.equal((await api.get('/api/users/999/sessions', { token: admin })).status, 404)
      assert.equal((await api.get('/api/users/999/passkeys', { token: admin })).status, 404)
      assert.equal((await api.get(`/api/users/${userId}/sessions`, { token })).status, 403)
    })

    test('are 403 without ROLE_ADMIN, 401 without a token', async (t) => {
      const { api, userId, token, remove, list } = await startWithAccess(t, engine)

      for (const path of ['sessions', 'sessions/1', 'passkeys', 'passkeys/x']) {
        assert.equal(await remove(`${userId}/${path}`, token), 403)
        assert.equal((await api.delete(`/api/users/${userId}/${path}`)).status, 401)
      }
      assert.equal((await list('sessions')).length, 2)
      assert.equal((await list('passkeys')).length, 1)
    })

    test('are ended and removed only with a reason', async (t) => {
      const { api, admin, userId, list } = await startWithAccess(t, engine)
      const [{ id: sessionId }] = await list('sessions')
      const [{ id: passkeyId }] = await list('passkeys')

      for (const path of ['sessions', `sessions/${sessionId}`, 'passkeys', `passkeys/${passkeyId}`])
        for (const body of [undefined, {}, { reason: ' ' }, { reason: 'a\u0000b' }]) {
          const reply = await api.deleteWith(`/api/users/${userId}/${path}`, body, { token: admin })
          assert.deepEqual([reply.status, reply.body.code], [400, 'VALIDATION_ERROR'])
          assert.match(reply.body.errors[0], /^reason: /)
        }
      assert.equal((await list('sessions')).length, 2)
      assert.equal((await list('passkeys')).length, 1)
    })

    test('are ended and removed with the administrator as the actor in the audit', async (t) => {
      const { api, admin, userId, remove } = await startWithAccess(t, engine)
      await remove(`${userId}/sessions`)
      await remove(`${userId}/passkeys`)

      const { body } = await api.get('/api/audit', { token: admin })

      assert.deepEqual(
        body.content.slice(0, 2).map(({ event, actor, subject }: Row) => [event, actor, subject]),
        [
          ['PASSKEY_REMOVED', 'admin', 'alice'],
          ['SESSION_REVOKED', 'admin', 'alice'],
        ],
      )
    })

    test('are listed and removed by the command line', async (t) => {
      const { config, list } = await startWithAccess(t, engine)
      const run = commandLine(config.databaseUrl)
      const [{ id: sessionId }] = await list('sessions')
      const [{ id: passkeyId }] = await list('passkeys')

      const sessions = await run('user', 'sessions', 'alice')
      assert.match(sessions.stdout, /^id\tcreatedAt\tlastUsedAt\taddress\tuserAgent\tclient\n/)
      assert.equal(sessions.stdout.trim().split('\n').length, 3)
      assert.match(
        (await run('user', 'passkeys', 'alice')).stdout,
        new RegExp(`^${passkeyId}\t`, 'm'),
      )
      await run('user', 'end-session', 'alice', String(sessionId))
      assert.equal((await list('sessions')).length, 1)
      await run('user', 'end-session', 'alice', '--all')
      await run('user', 'remove-passkey', 'alice', passkeyId)
      assert.equal((await run('user', 'sessions', 'alice')).stdout, 'None.\n')
      assert.equal((await run('user', 'passkeys', 'alice')).stdout, 'None.\n')
      for (const words of [
        ['end-session', 'alice'],
        ['remove-passkey', 'alice'],
        ['end-session', 'alice', '1', '--all'],
        ['sessions', 'alice', '--all'],
      ])
        await assert.rejects(run('user', ...words), /Usage:/)
      await assert.rejects(run('user', 'end-session', 'alice', 'x'), /no such session/)
      await assert.rejects(run('user', 'remove-passkey', 'alice', passkeyId), /no such passkey/)
      const hyphenated = `--${passkeyId.slice(2)}`
      await assert.rejects(run('user', 'remove-passkey', 'alice', hyphenated), /no such passkey/)
    })
  })
}
