import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { armFailPoint } from '@plinth/kit/runtime'
import { loggedLines } from '../../../test/logged-lines.ts'
import { until } from '../../../test/until.ts'
import { ADA, openBrowser, startFederated } from './federated.ts'
import { ALICE, engines, startIdentity } from './start-identity.ts'

for (const engine of engines)
  describe(`an outage is logged once, then counted, on ${engine.name}`, engine.options, () => {
    test('a provider that fails every sign-in', async (t) => {
      const { api, upstream, server } = await startFederated(t, { engine })
      const { lines, endOutages } = loggedLines(server)
      upstream.faults = { answers: { token: { status: 500 } } }

      const errors: (string | null)[] = []
      for (let n = 0; n < 5; n += 1)
        errors.push((await openBrowser(api).visit(upstream, ADA)).error)
      endOutages()

      assert.deepEqual(new Set(errors), new Set(['provider_failed']))
      const message = 'a sign-in with a provider failed'
      const logged = lines.filter((line) => line.message.endsWith(message))
      assert.deepEqual(logged, [
        { level: 'error', message },
        { level: 'info', message: `over: ${message}`, failures: 5 },
      ])
    })

    test('mail rounds that fail one after the other', async (t) => {
      const { api, server } = await startIdentity(t, { engine })
      const { lines, failures, endOutages } = loggedLines(server)
      armFailPoint({ NODE_ENV: 'test', FAIL_POINT: 'mail:claimed=error' })
      t.after(() => armFailPoint({}))
      const register = (n: number) =>
        api.post('/api/auth/register', {
          ...ALICE,
          username: `user-${n}`,
          email: `user-${n}@example.com`,
        })

      for (let n = 0; n < 3; n += 1) {
        await register(n)
        await until(failures, (count) => count > n)
      }
      endOutages()

      const [first, end, ...more] = lines.filter(({ message }) => /mail/.test(message))
      assert.deepEqual([first?.level, end?.level, more.length], ['error', 'info', 0])
      assert.equal(end?.message, `over: ${first?.message}`)
      assert.equal(end?.failures, failures())
    })
  })
