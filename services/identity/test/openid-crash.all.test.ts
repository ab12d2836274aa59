import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { cheapHashing } from '@plinth/accounts/testing'
import { type Api, spawnService, type TestEngine } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { claimsIn, formRequest, obtainTokens, refreshWith, registerClient } from './browser.ts'
import { startLogoutReceiver } from './logout-receiver.ts'
import { ALICE, engines, MASTER_KEY } from './start-identity.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const SESSIONS = 12
const ENDED_BEFORE_THE_KILL = 5

/** Where the process is killed while it tells the client. */
const STEPS = ['logout:claimed', 'logout:sent']

async function install(t: TestContext, engine: TestEngine) {
  const receiver = await startLogoutReceiver(t)
  const env = {
    SUITE_DATA: tmpdir(),
    IDENTITY_PORT: '0',
    IDENTITY_MASTER_KEY: MASTER_KEY,
    IDENTITY_DATABASE_URL: await engine.freshUrl(t),
    ...cheapHashing('IDENTITY_'),
  }
  const told = (sids: string[]) =>
    until(
      () => receiver.tokens.map((token): string => claimsIn(token).sid),
      (known) => sids.every((sid) => known.includes(sid)),
    )
  return { receiver, env, told }
}

/** Sessions of a client that alice is signed in to, in one browser. */
async function signInOften(api: Api, backchannelLogoutUri: string, count: number) {
  await api.post('/api/auth/register', ALICE)
  const client = await registerClient(api, { backchannelLogoutUri })
  const first = await obtainTokens(api, client)
  const sessions = [first]
  while (sessions.length < count)
    sessions.push(await obtainTokens(api, client, { browser: first.browser }))
  return { client, sessions }
}

type Session = Awaited<ReturnType<typeof obtainTokens>>

const sidOf = ({ id_token }: Session): string => claimsIn(id_token).sid

/** Returns whether the service has acknowledged the end. */
async function end(api: Api, { refresh_token: token }: Session): Promise<boolean> {
  try {
    return (await formRequest(api, '/oauth2/revoke', { token })).status === 200
  } catch {
    return false
  }
}

for (const engine of engines)
  describe(`kill -9 between the end of a session and its logout token, on ${engine.name}`, {
    ...engine.options,
    // Each waits until the lease of the process that was killed has run out.
    concurrency: true,
  }, () => {
    test('killed while sessions end: each that has ended is told once the service is back, and no other', async (t) => {
      const { receiver, env, told } = await install(t, engine)
      const first = await spawnService(t, MAIN, env)
      const { client, sessions } = await signInOften(first.api, receiver.url, SESSIONS)
      let acknowledged = 0
      const endNext = async (session: Session) => {
        const isEnded = await end(first.api, session)
        if (isEnded && ++acknowledged === ENDED_BEFORE_THE_KILL) void first.kill('SIGKILL')
        return isEnded
      }

      const ends = await Promise.all(sessions.slice(1).map(endNext))
      await first.ended
      const second = await spawnService(t, MAIN, env)
      await told(
        sessions
          .slice(1)
          .filter((_, index) => ends[index])
          .map(sidOf),
      )

      assert.ok(acknowledged >= ENDED_BEFORE_THE_KILL)
      const alive: string[] = []
      for (const session of sessions) {
        const { status } = await refreshWith(second.api, client, session.refresh_token)
        if (status === 200) alive.push(sidOf(session))
      }
      // Also those whose end was committed, but whose reply was lost.
      const gone = sessions.map(sidOf).filter((sid) => !alive.includes(sid))
      const known = await told(gone)
      assert.deepEqual(
        known.filter((sid) => alive.includes(sid)),
        [],
      )
      assert.ok(alive.length > 0)
    })

    for (const step of STEPS)
      test(`killed at ${step}: the client is told again, with the same id`, async (t) => {
        const { receiver, env, told } = await install(t, engine)
        const first = await spawnService(t, MAIN, { ...env, FAIL_POINT: `${step}=kill` })
        const { sessions } = await signInOften(first.api, receiver.url, 2)
        const [kept, ended] = sessions as [Session, Session]

        await end(first.api, ended)
        await first.ended
        const before = receiver.tokens.length
        await spawnService(t, MAIN, env)
        await until(
          () => receiver.tokens.length,
          (count) => count > before,
        )

        const known = await told([sidOf(ended)])
        assert.equal(before, step === 'logout:sent' ? 1 : 0)
        assert.equal(known.includes(sidOf(kept)), false)
        assert.equal(new Set(receiver.tokens.map((token) => claimsIn(token).jti)).size, 1)
      })
  })
