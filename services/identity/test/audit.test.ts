import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines } from '@plinth/kit/testing'
import { ADMIN, ALICE, adminToken, startWithAlice } from './start-identity.ts'

type Row = Record<string, string | number | null>

for (const engine of engines) {
  describe(`GET /api/audit on ${engine.name}`, { skip: engine.skip }, () => {
    test('has one row for every security event, without any secret', async (t) => {
      const { api, pair, token, userId } = await startWithAlice(t, { engine })
      const wrong = 'a wrong password typed here'
      await api.post('/api/auth/login', { ...ALICE, password: wrong })
      await api.post('/api/auth/login', { username: wrong, password: wrong })
      await api.post('/api/auth/refresh', { refreshToken: pair.refreshToken })
      await api.post('/api/auth/refresh', { refreshToken: pair.refreshToken })
      await api.post('/api/auth/refresh', { refreshToken: 'unknown' })
      await api.post('/api/auth/logout', { refreshToken: 'unknown' }, { token })
      const admin = await adminToken(api)
      await api.patch(`/api/users/${userId}`, { roles: [] }, { token: admin })
      await api.patch(`/api/users/${userId}`, { enabled: false }, { token: admin })
      await api.patch(`/api/users/${userId}`, { enabled: true }, { token: admin })
      await api.patch(`/api/users/${userId}`, { enabled: true }, { token: admin })

      const { status, body, bytes } = await api.get('/api/audit?sort=id,asc', { token: admin })

      assert.equal(status, 200)
      assert.deepEqual(
        body.content.map(({ event, actor, subject, result }: Row) => [
          event,
          actor,
          subject,
          result,
        ]),
        [
          ['REGISTER', 'alice', 'alice', 'SUCCESS'],
          ['LOGIN', 'alice', 'alice', 'SUCCESS'],
          ['LOGIN', null, 'alice', 'REFUSED'],
          ['LOGIN', null, null, 'REFUSED'],
          ['REFRESH', 'alice', 'alice', 'SUCCESS'],
          ['REFRESH_REPLAYED', null, 'alice', 'REFUSED'],
          ['REFRESH', null, null, 'REFUSED'],
          ['LOGOUT', 'alice', 'alice', 'UNCHANGED'],
          ['LOGIN', 'admin', 'admin', 'SUCCESS'],
          ['ROLES_CHANGED', 'admin', 'alice', 'SUCCESS'],
          ['USER_DISABLED', 'admin', 'alice', 'SUCCESS'],
          ['USER_ENABLED', 'admin', 'alice', 'SUCCESS'],
        ],
      )
      for (const secret of [wrong, ALICE.password, ADMIN.password, pair.refreshToken, token])
        assert.ok(!bytes.includes(secret))
    })

    test('shows when, from where and in which request, newest first', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine })
      const headers = { 'x-request-id': 'my-request-1' }
      await api.post('/api/auth/login', ALICE, { headers })
      const token = await adminToken(api)

      const { body } = await api.get('/api/audit?size=2', { token })

      const [, row] = body.content as Row[]
      const { id, ...rest } = row ?? {}
      assert.ok(Number.isInteger(id))
      assert.deepEqual(rest, {
        at: clock().toISOString(),
        event: 'LOGIN',
        actor: 'alice',
        subject: 'alice',
        address: '127.0.0.1',
        result: 'SUCCESS',
        requestId: 'my-request-1',
      })
      assert.equal(body.totalElements, 4)
    })

    test('is for administrators', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })

      assert.equal((await api.get('/api/audit')).status, 401)
      assert.equal((await api.get('/api/audit', { token })).status, 403)
    })
  })
}
