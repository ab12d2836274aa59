import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { TestEngine } from '@plinth/kit/testing'
import { startPasskeyClient } from './passkey-client.ts'
import { adminToken, engines, startWithAlice } from './start-identity.ts'

/** Alice and the administrator, each with a passkey in a browser of their own. */
async function startWithTwo(t: TestContext, engine: TestEngine) {
  const started = await startWithAlice(t, { engine })
  const { api, token } = started
  const [alices, admins] = [await startPasskeyClient(api), await startPasskeyClient(api)]
  await alices.register(token)
  await admins.register(await adminToken(api))
  return { ...started, alices, admins }
}

for (const engine of engines) {
  describe(`ceremonies with swapped parts on ${engine.name}`, engine.options, () => {
    test('refuse the assertion of one passkey under the id of another', async (t) => {
      const { alices, admins } = await startWithTwo(t, engine)

      const { status } = await alices.logIn({ id: admins.authenticator.id })

      assert.equal(status, 401)
    })

    test("refuse another user's signature with one's own id and user handle", async (t) => {
      const { alices, admins, token } = await startWithTwo(t, engine)
      const { user } = await alices.registrationOptions(token)
      const assertion = admins.authenticator.get(await admins.authenticationOptions())
      const mine = { ...assertion, id: alices.authenticator.id, rawId: alices.authenticator.id }

      const bare = await admins.present({ ...assertion, id: alices.authenticator.id })
      const whole = await alices.present({
        ...mine,
        response: { ...mine.response, userHandle: user.id },
      })

      assert.deepEqual([bare.status, whole.status], [401, 401])
    })

    test('refuse the client data of one login with the signature of the next', async (t) => {
      const { alices } = await startWithTwo(t, engine)
      const first = alices.authenticator.get(await alices.authenticationOptions())
      const second = alices.authenticator.get(await alices.authenticationOptions())
      const { clientDataJSON } = first.response

      const mixed = { ...second, response: { ...second.response, clientDataJSON } }

      assert.equal((await alices.present(mixed)).status, 401)
    })

    test('accept the logins of two pages in any order', async (t) => {
      const { alices } = await startWithTwo(t, engine)
      const [one, two] = [
        await alices.authenticationOptions(),
        await alices.authenticationOptions(),
      ]

      const later = await alices.present(alices.authenticator.get(two))
      const earlier = await alices.present(alices.authenticator.get(one))

      assert.deepEqual([later.status, earlier.status], [200, 200])
    })
  })

  describe(`a registration challenge on ${engine.name}`, engine.options, () => {
    const add = async (t: TestContext) => {
      const started = await startWithAlice(t, { engine })
      const { api, token } = started
      const client = await startPasskeyClient(api)
      const options = await client.registrationOptions(token)
      const send = async (falsified = {}) => {
        const { authenticator } = await startPasskeyClient(api)
        const credential = authenticator.create(options, falsified)
        const body = { publicKey: { credential, label: 'x' } }
        const { headers } = client
        return (await api.post('/webauthn/register', body, { token, headers })).status
      }
      return { ...started, send }
    }

    test('works for only one passkey', async (t) => {
      const { send } = await add(t)

      assert.deepEqual([await send(), await send()], [200, 400])
    })

    test('is used up by a failed attempt', async (t) => {
      const { send } = await add(t)

      assert.deepEqual([await send({ rpId: 'evil.example' }), await send()], [400, 400])
    })

    test('works for one of two passkeys registered with it at once', async (t) => {
      const { send } = await add(t)

      const statuses = await Promise.all([send(), send()])

      assert.deepEqual(statuses.sort(), [200, 400])
    })

    test('is refused after five minutes', async (t) => {
      const { clock, send } = await add(t)
      clock.advance(300)

      assert.equal(await send(), 400)
    })
  })
}
