import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  ADA,
  ALICE_THERE,
  openBrowser,
  startFederated,
  startWithAliceAndAcme,
} from './federated.ts'
import { mailTo } from './inbox.ts'
import { ALICE, adminToken, engines } from './start-identity.ts'

const BOB = { sub: 'bob-1', email: 'bob@example.com', email_verified: true }

for (const engine of engines) {
  describe(`administrators on ${engine.name}`, engine.options, () => {
    test('list the identities of a user, and remove one', async (t) => {
      const { api, upstream, token, userId } = await startWithAliceAndAcme(t, { engine })
      const browser = openBrowser(api)
      const { ticket } = await browser.visit(upstream, ALICE_THERE, { token })
      await browser.finish(ticket, { token })
      const admin = { token: await adminToken(api) }
      const path = `/api/users/${userId}/identities`
      const json = { ...admin, headers: { 'content-type': 'application/json' } }
      const remove = (id: number | string) =>
        api.request('DELETE', `${path}/${id}`, { ...json, body: '{"reason":"by phone"}' })

      const { body: listed } = await api.get(path, admin)
      const [{ id }] = listed
      const removed = await remove(id)
      const again = await remove(id)

      assert.deepEqual(
        listed.map(({ provider, email }: Record<string, string>) => [provider, email]),
        [['acme', ALICE.email]],
      )
      assert.deepEqual([removed.status, again.status], [204, 404])
      assert.equal((await remove('x')).status, 404)
      assert.deepEqual((await api.get(path, admin)).body, [])
      assert.equal((await openBrowser(api).signIn(upstream, ALICE_THERE)).status, 409)
      const { body: audit } = await api.get('/api/audit?event=IDENTITY_UNLINKED', admin)
      const [{ actor, subject, reason }] = audit.content
      assert.deepEqual([actor, subject, reason], ['admin', 'alice', 'by phone'])
      await mailTo(api, ALICE.email, 'identity-unlinked')
    })

    test('remove no identity through another user, and others see none', async (t) => {
      const { api, upstream, token, userId } = await startWithAliceAndAcme(t, { engine })
      const browser = openBrowser(api)
      const { ticket } = await browser.visit(upstream, ALICE_THERE, { token })
      await browser.finish(ticket, { token })
      const admin = { token: await adminToken(api) }
      const [{ id }] = (await api.get(`/api/users/${userId}/identities`, admin)).body

      const why = { reason: 'by phone' }
      const other = await api.deleteWith(`/api/users/1/identities/${id}`, why, admin)
      const unknown = await api.get('/api/users/999999/identities', admin)
      const asAlice = await api.get(`/api/users/${userId}/identities`, { token })
      const byAlice = await api.delete(`/api/users/${userId}/identities/${id}`, { token })

      assert.deepEqual([other.status, other.body.code], [404, 'IDENTITY_NOT_FOUND'])
      assert.deepEqual([unknown.status, unknown.body.code], [404, 'USER_NOT_FOUND'])
      assert.deepEqual([asAlice.status, byAlice.status], [403, 403])
      assert.equal((await openBrowser(api).signIn(upstream, ALICE_THERE)).status, 200)
    })
  })

  describe(`sign-ups from one network on ${engine.name}`, engine.options, () => {
    const env = { IDENTITY_REGISTRATIONS_PER_HOUR: '2' }

    test('with a provider count as registrations, and sign-ins do not', async (t) => {
      const { api, upstream, clock } = await startFederated(t, { engine, env })
      assert.equal((await api.post('/api/auth/register', ALICE)).status, 201)
      assert.equal((await openBrowser(api).signIn(upstream, ADA)).status, 200)

      const third = await openBrowser(api).signIn(upstream, BOB)
      const again = await openBrowser(api).signIn(upstream, ADA)
      const byForm = await api.post('/api/auth/register', { ...ALICE, username: 'eva' })
      clock.advance(3601)
      const later = await openBrowser(api).signIn(upstream, BOB)

      assert.equal(third.status, 429)
      assert.ok(Number(third.headers.get('retry-after')) > 0)
      assert.equal(again.status, 200)
      assert.equal(byForm.status, 429)
      assert.equal(later.status, 200)
    })

    test('with a mailed code count as registrations', async (t) => {
      const { api, upstream } = await startFederated(t, { engine, env })
      for (const username of ['eva', 'kim'])
        await api.post('/api/auth/register', {
          ...ALICE,
          username,
          email: `${username}@example.com`,
        })
      const nameless = { sub: 'nameless-1' }
      const { body } = await openBrowser(api).signIn(upstream, nameless)
      const { signUpToken } = body
      await api.post('/api/auth/providers/sign-up', { signUpToken, email: BOB.email })
      const { code } = await mailTo(api, BOB.email, 'sign-up-code')

      const confirmed = await api.post('/api/auth/providers/sign-up/confirm', { signUpToken, code })

      assert.equal(confirmed.status, 429)
    })
  })
}
