import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import {
  formRequest,
  openBrowser,
  type Registered,
  registerClient,
  signIn,
  tokenRequest,
} from './browser.ts'
import { adminToken, engines, sharedIdentity, startWithAlice } from './start-identity.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const DEVICE = { grantTypes: [GRANT, 'refresh_token'], authMethod: 'none', redirectUris: [] }

type Api = Parameters<typeof openBrowser>[0]

async function ask(api: Api, { clientId }: Registered) {
  const form = { client_id: clientId, scope: 'openid profile' }
  const headers = { 'user-agent': 'plinth' }
  return formRequest(api, '/oauth2/device_authorization', form, headers)
}

const poll = (api: Api, client: Registered, device_code: string) =>
  tokenRequest(api, { grant_type: GRANT, device_code }, client)

const type = (api: Api, userCode: string, cookie?: string) =>
  api.post('/api/authorizations', { userCode }, { headers: cookie ? { cookie } : {} })

/** A browser whose user has typed the code. */
async function opened(api: Api, userCode: string) {
  const browser = openBrowser(api)
  const reply = await type(api, userCode)
  browser.setCookie(reply.headers.get('set-cookie')?.split(';')[0])
  return { browser, reply, id: reply.body.id as string }
}

for (const engine of engines)
  describe(`devices without a browser on ${engine.name}`, engine.options, () => {
    const shared = sharedIdentity({ engine })
    let client: Registered

    before(async () => {
      client = await registerClient(shared().api, { ...DEVICE, firstParty: true })
    })

    test('get tokens once their user has typed the code and allowed it', async () => {
      const { api, config, clock } = shared()
      const { status, body } = await ask(api, client)
      const pending = await poll(api, client, body.device_code)
      const { browser, reply, id } = await opened(
        api,
        body.user_code.toLowerCase().replace('-', ' '),
      )

      const signedIn = await signIn(api, browser, id)
      const allowed = await browser.decide(id, { action: 'allow' })
      clock.advance(6)
      const tokens = await poll(api, client, body.device_code)
      const again = await poll(api, client, body.device_code)

      assert.equal(status, 200)
      assert.match(body.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
      assert.deepEqual([body.expires_in, body.interval], [600, 5])
      assert.equal(body.verification_uri, `${config.publicUrl}/account/device`)
      assert.equal(pending.body.error, 'authorization_pending')
      assert.deepEqual([reply.status, reply.body.step], [201, 'sign-in'])
      assert.equal(reply.body.device.userAgent, 'plinth')
      assert.equal(signedIn.body.step, 'consent')
      assert.deepEqual([allowed.body.step, allowed.body.redirectTo], ['done', null])
      assert.equal(tokens.status, 200, JSON.stringify(tokens.body))
      assert.ok(tokens.body.id_token && tokens.body.refresh_token)
      assert.equal(again.body.error, 'invalid_grant')
    })

    test('learn that they ask too often, that it was denied, and that it is too late', async () => {
      const { api, clock } = shared()
      const { body } = await ask(api, client)
      const error = async (code: string, by = client) => (await poll(api, by, code)).body.error

      assert.equal(await error(body.device_code), 'authorization_pending')
      assert.equal(await error(body.device_code), 'slow_down')
      clock.advance(6)
      assert.equal(await error(body.device_code), 'slow_down')
      clock.advance(16)
      assert.equal(await error(body.device_code), 'authorization_pending')
      const other = await registerClient(api, DEVICE)
      assert.equal(await error(body.device_code, other), 'invalid_grant')
      const { browser, id } = await opened(api, body.user_code)
      await browser.decide(id, { action: 'deny' })
      assert.equal(await error(body.device_code), 'access_denied')
      const late = await ask(api, client)
      clock.advance(601)
      assert.equal(await error(late.body.device_code), 'expired_token')
      assert.equal((await type(api, late.body.user_code)).body.code, 'USER_CODE_UNKNOWN')
    })

    test('are answered once: an answer in a second browser, or after the code has expired, is refused', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine })
      const command = await registerClient(api, DEVICE)
      const answered = await ask(api, command)
      const [first, second] = [
        await opened(api, answered.body.user_code),
        await opened(api, answered.body.user_code),
      ]
      const expired = await ask(api, command)
      clock.advance(300)
      const late = await opened(api, expired.body.user_code)
      clock.advance(299)
      await first.browser.decide(first.id, { action: 'deny' })
      const again = await second.browser.decide(second.id, { action: 'deny' })
      clock.advance(2)

      const tooLate = await late.browser.decide(late.id, { action: 'deny' })

      const outcomeOf = ({ status, body }: typeof again) => [status, body.code]
      assert.deepEqual(outcomeOf(again), [404, 'AUTHORIZATION_UNKNOWN'])
      assert.deepEqual(outcomeOf(tooLate), [404, 'AUTHORIZATION_UNKNOWN'])
    })

    test('ask every time, also where the user has allowed it before', async () => {
      const { api } = shared()
      const first = await ask(api, client)
      const { browser, id } = await opened(api, first.body.user_code)
      await signIn(api, browser, id)
      await browser.decide(id, { action: 'allow' })
      const second = await ask(api, client)

      const { status, body } = await type(api, second.body.user_code, browser.cookie)

      assert.deepEqual([status, body.step, body.account.username], [201, 'consent', 'alice'])
    })

    test('need a client that may use the grant', async () => {
      const { api } = shared()
      const web = await registerClient(api, { authMethod: 'none' })

      assert.equal((await ask(api, web)).body.error, 'unauthorized_client')
      const foreign = await api.post(
        '/api/authorizations',
        { userCode: 'BCDF-GHJK' },
        { headers: { origin: 'https://evil.example' } },
      )
      assert.equal(foreign.body.code, 'ORIGIN_REJECTED')
    })

    test('user codes cannot be guessed: ten wrong ones an hour from one network', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine })
      const command = await registerClient(api, DEVICE)
      const { body } = await ask(api, command)
      const right = await type(api, body.user_code)
      const wrong = []
      for (let tries = 0; tries < 10; tries += 1) wrong.push((await type(api, 'BCDF-GHJK')).status)

      const limited = await type(api, body.user_code)
      clock.advance(3601)
      const later = await ask(api, command)

      assert.equal(right.status, 201)
      assert.deepEqual(new Set(wrong), new Set([404]))
      assert.equal(limited.status, 429)
      assert.ok(limited.headers.get('retry-after'))
      assert.equal((await type(api, later.body.user_code)).status, 201)
    })

    test('an approval that the user takes back before the device asks gives no tokens', async () => {
      const { api, token } = shared()
      const { body } = await ask(api, client)
      const { browser, id } = await opened(api, body.user_code)
      await signIn(api, browser, id)
      await browser.decide(id, { action: 'allow' })

      const { status } = await api.delete(`/api/users/me/grants/${client.clientId}`, {
        token,
      })

      assert.equal(status, 204)
      assert.equal((await poll(api, client, body.device_code)).body.error, 'invalid_grant')
    })

    test('a user who was disabled after the approval gets no tokens', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const command = await registerClient(api, DEVICE)
      const { body } = await ask(api, command)
      const { browser, id } = await opened(api, body.user_code)
      await signIn(api, browser, id)
      await browser.decide(id, { action: 'allow' })

      await api.patch(`/api/users/${userId}`, { enabled: false }, { token: await adminToken(api) })

      assert.equal((await poll(api, command, body.device_code)).body.error, 'invalid_grant')
    })
  })
