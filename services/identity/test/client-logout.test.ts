import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { identityClient } from '@plinth/client'
import { ADMIN, ALICE, startWithAlice } from './start-identity.ts'

type Fetch = typeof fetch

/** A client signed in as alice, and a second one that can see whether the first session is still open. */
async function startClient(t: TestContext, around: (send: Fetch) => Fetch = (send) => send) {
  const { baseUrl, clock, api } = await startWithAlice(t)
  const client = identityClient(baseUrl, { fetch: around(fetch) })
  const second = identityClient(baseUrl)
  for (const one of [client, second]) await one.logIn(ALICE.username, ALICE.password)
  const own = (await client.sessions.list()).find(({ current }) => current)
  const isOver = async () => !(await second.sessions.list()).some(({ id }) => id === own?.id)
  return { api, client, clock, isOver, second }
}

/** Runs `first` before the first request to a path is sent. */
function before(path: string, first: () => Promise<unknown>) {
  let waiting = true
  return (send: Fetch): Fetch =>
    async (url, init) => {
      const now = waiting && String(url).endsWith(path)
      if (now) waiting = false
      if (now) await first()
      return send(url, init)
    }
}

describe('logOut() of the client ends the session at the service', () => {
  test('with a valid access token', async (t) => {
    const { client, isOver } = await startClient(t)
    assert.equal(await isOver(), false)

    await client.logOut()

    assert.equal(client.session.signedIn, false)
    assert.equal(await isOver(), true)
  })

  test('after the access token expired', async (t) => {
    const { client, clock, isOver } = await startClient(t)
    clock.advance(900)

    await client.logOut()

    assert.equal(client.session.signedIn, false)
    assert.equal(await isOver(), true)
  })

  test('while a refresh is in flight', async (t) => {
    const { api, client } = await startClient(t)
    const refreshing = client.session.refresh()

    await client.logOut()

    const { refreshToken } = await refreshing
    assert.equal(client.session.signedIn, false)
    assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 401)
  })

  test('when a refresh overtakes the logout', async (t) => {
    const overtaken = before('/api/auth/logout', () => client.session.refresh())
    const { client, isOver } = await startClient(t, overtaken)

    await client.logOut()

    assert.equal(client.session.signedIn, false)
    assert.equal(await isOver(), true)
  })

  for (const [when, seconds] of Object.entries({ valid: 0, expired: 900 }))
    test(`and succeeds when it was ended elsewhere, with a ${when} access token`, async (t) => {
      const { client, clock, second } = await startClient(t)
      const other = (await second.sessions.list()).find(({ current }) => !current)
      await second.sessions.end(other?.id ?? 0)
      clock.advance(seconds)

      await client.logOut()

      assert.equal(client.session.signedIn, false)
    })

  test('and keeps the tokens when the service is unreachable', async (t) => {
    const cut = before('/api/auth/logout', () => Promise.reject(new Error('no network')))
    const { client, isOver } = await startClient(t, cut)

    await assert.rejects(client.logOut(), /no network/)
    assert.equal(client.session.signedIn, true)
    await client.logOut()

    assert.equal(await isOver(), true)
  })
})

test('a refresh does not sign a client back in that was signed out in the meantime', async (t) => {
  const signedOut = before('/api/auth/refresh', async () => {
    client.session.forget()
  })
  const { client } = await startClient(t, signedOut)

  await client.session.refresh()

  assert.equal(client.session.signedIn, false)
})

test('a request is retried as the user who made it, even if another has signed in since', async (t) => {
  const signedIn = before('/api/auth/refresh', () => client.logIn(ADMIN.username, ADMIN.password))
  const { client, clock } = await startClient(t, signedIn)
  clock.advance(900)

  const { username } = await client.account.get()

  assert.equal(username, ALICE.username)
  assert.equal((await client.account.get()).username, ADMIN.username)
})
