import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startReceiver } from '@plinth/events/testing'
import type { Api } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { enrol } from './authenticator-app.ts'
import { mailTo, tokenOf } from './inbox.ts'
import { ALICE, adminToken, engines, startWithAlice } from './start-identity.ts'

const NEW_EMAIL = 'alice@new.example'

type PublishedEvent = { type: string; subject: string; data: { userId: number; cause: string } }

/** Waits until there are `count` events. */
function eventsOf(api: Api, token: string, count: number): Promise<PublishedEvent[]> {
  const read = async (): Promise<PublishedEvent[]> =>
    (await api.get('/api/events', { token })).body.items
  return until(read, (items) => items.length >= count, 20)
}

for (const engine of engines)
  describe(`events of identity on ${engine.name}`, engine.options, () => {
    test('report the changes of an account, with its id as the only personal data', async (t) => {
      const { api, clock, userId, token } = await startWithAlice(t, { engine, delivers: true })
      const admin = await adminToken(api)
      const { code } = await mailTo(api, ALICE.email, 'verify-email')
      await api.post('/api/auth/verify-email', { email: ALICE.email, code })
      await api.post('/api/users/me/email', { newEmail: NEW_EMAIL }, { token })
      const confirmation = await mailTo(api, NEW_EMAIL, 'email-change')
      await api.post('/api/users/me/email/confirm', { token: tokenOf(confirmation) })
      const { recoveryCodes } = await enrol(api, token, clock)
      await api.request('DELETE', '/api/users/me/totp', {
        token,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ recoveryCode: recoveryCodes[0] }),
      })
      const password = { currentPassword: ALICE.password, newPassword: 'another good password' }
      await api.post('/api/users/me/password', password, { token })
      const change = (body: object) => api.patch(`/api/users/${userId}`, body, { token: admin })
      await change({ roles: ['ROLE_USER', 'ROLE_ADMIN'] })
      await change({ enabled: false })

      const events = await eventsOf(api, admin, 8)

      assert.deepEqual(
        events.map(({ type, data }) => [type, data.cause]),
        [
          ['user.registered', 'REGISTER'],
          ['user.verified', 'EMAIL_VERIFIED'],
          ['user.email_changed', 'EMAIL_CHANGED'],
          ['mfa.enabled', 'TOTP_ADDED'],
          ['mfa.disabled', 'TOTP_REMOVED'],
          ['user.updated', 'PASSWORD_CHANGED'],
          ['user.updated', 'ROLES_CHANGED'],
          ['user.disabled', 'USER_DISABLED'],
        ],
      )
      assert.ok(events.every(({ subject }) => subject === `user:${userId}`))
      assert.ok(!JSON.stringify(events).includes('alice'))
    })

    test('reach an endpoint soon after the request, and include those about service keys', async (t) => {
      const { api } = await startWithAlice(t, { engine, delivers: true })
      const token = await adminToken(api)
      const receiver = await startReceiver(t)
      await api.post('/api/webhooks/endpoints', { url: receiver.url }, { token })

      const made = await api.post(
        '/api/service-keys',
        { name: 'shop', scopes: ['events:read'] },
        { token },
      )
      await until(() => receiver.delivered.length > 0, Boolean, 20)

      const { type, data } = JSON.parse(receiver.delivered[0]?.body ?? '')
      assert.deepEqual([type, data], ['service_key.created', { keyId: made.body.id }])
      const listed = await api.get('/api/events', { token: made.body.secret })
      assert.equal(listed.status, 200)
      const denied = await api.get('/api/webhooks/endpoints', { token: made.body.secret })
      assert.equal(denied.body.code, 'INSUFFICIENT_SCOPE')
    })

    test('administrators get a mail when an endpoint fails for days, and when it is disabled', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine, delivers: true })
      const first = { token: await adminToken(api) }
      const receiver = await startReceiver(t)
      receiver.answerWith(() => ({ status: 500 }))
      const { body } = await api.post('/api/webhooks/endpoints', { url: receiver.url }, first)
      await until(
        () => api.get(`/api/webhooks/endpoints/${body.id}`, first),
        (reply) => reply.body.firstFailureAt !== null,
      )
      clock.advance(3 * 86_400)
      const later = { token: await adminToken(api) }
      const happen = () =>
        api.post('/api/service-keys', { name: 'shop', scopes: ['events:read'] }, later)

      await happen()
      const warning = await mailTo(api, 'admin@example.com', 'endpoint-failing')
      receiver.answerWith(() => ({ status: 410 }))
      await happen()
      const mail = await mailTo(api, 'admin@example.com', 'endpoint-disabled')

      for (const { text } of [warning, mail])
        assert.match(text, new RegExp(`${body.id} \\(${new URL(receiver.url).origin}\\)`))
      const { body: audit } = await api.get('/api/audit', later)
      const events = audit.content.map(({ event }: { event: string }) => event)
      for (const event of ['WEBHOOK_ENDPOINT_FAILING', 'WEBHOOK_ENDPOINT_DISABLED'])
        assert.ok(events.includes(event), event)
    })

    test('are for administrators and service keys, not for users', async (t) => {
      const { api, token } = await startWithAlice(t, { engine, delivers: true })

      assert.equal((await api.get('/api/events')).status, 401)
      assert.equal((await api.get('/api/events', { token })).status, 403)
      assert.equal((await api.get('/api/webhooks/endpoints', { token })).status, 403)
    })
  })
