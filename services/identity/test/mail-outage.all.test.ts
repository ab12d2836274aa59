import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { exposition } from '@plinth/kit/metrics'
import type { TestEngine } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { startSmtpServer } from './inbox.ts'
import { ALICE, adminToken, engines, startIdentity } from './start-identity.ts'

type Behaviour = Parameters<typeof startSmtpServer>[1]

/** A service whose mail server behaves like this, and what the log says about mail. */
async function start(t: TestContext, engine: TestEngine | undefined, behaviour: Behaviour) {
  const smtp = await startSmtpServer(t, behaviour)
  const env = {
    SMTP_URL: smtp.url.replace('//', '//user:secret@'),
    MAIL_FROM: 'accounts@plinth.example',
  }
  const { api, clock, server } = await startIdentity(t, { ...(engine && { engine }), env })
  const lines: string[] = []
  const read = (level: string) => (details: unknown, message?: unknown) => {
    lines.push([level, JSON.stringify(details), message].join(' '))
  }
  Object.assign(server.log, { error: read('error'), warn: read('warn'), info: read('info') })
  const aboutMail = () => lines.filter((line) => /\bmails?\b/.test(line))
  let count = 0
  const register = async () => {
    count += 1
    const names = { username: `user-${count}`, email: `user-${count}@example.com` }
    assert.equal((await api.post('/api/auth/register', { ...ALICE, ...names })).status, 201)
  }
  const token = await adminToken(api)
  /** Waits until each mail was tried this often, or sent. */
  const tried = (attempts: number) =>
    until(
      () => api.get('/api/mail?size=100', { token }),
      ({ body }) =>
        (body.content as { state: string; attempts: number }[]).every(
          (mail) => mail.state !== 'queued' || mail.attempts >= attempts,
        ),
    )
  const metric = async (name: string) => {
    const text = exposition(await server.metrics.read())
    const line = text.split('\n').find((each) => each.startsWith(name))
    return Number(line?.split(' ').at(-1))
  }
  return { api, clock, smtp, aboutMail, register, tried, metric }
}

for (const engine of engines) {
  describe(`a mail server that refuses us on ${engine.name}`, engine.options, () => {
    test('is in the log once, in the health of mail and in the metrics until it takes mails again', async (t) => {
      const refuseAt: NonNullable<Behaviour>['refuseAt'] = {
        'sign-in': { code: 535, text: 'no such login as user@example.com' },
      }
      const { api, clock, aboutMail, register, tried, metric } = await start(t, engine, {
        refuseAt,
      })
      assert.equal(await metric('plinth_mail_server_up'), 1)
      for (let n = 0; n < 3; n += 1) await register()
      await tried(1)

      const [line = '', ...more] = aboutMail()
      const { status, body } = await api.get('/actuator/health/mail')

      assert.match(line, /^error .*535.*mail server/)
      assert.doesNotMatch(line, /example\.com|secret/)
      assert.deepEqual(more, [])
      assert.deepEqual([status, body.status], [503, 'DOWN'])
      assert.deepEqual((await api.get('/actuator/health')).body, { status: 'UP' })
      assert.equal(await metric('plinth_mail_server_up'), 0)
      assert.equal(await metric('plinth_mail_attempts_total{result="failed"'), 3)

      delete refuseAt['sign-in']
      clock.advance(60)
      await tried(2)
      assert.deepEqual(
        aboutMail()
          .slice(1)
          .map((text) => /^(\w+) .*takes mails again/.exec(text)?.[1]),
        ['info'],
      )
      assert.deepEqual((await api.get('/actuator/health/mail')).body, { status: 'UP' })
      assert.equal(await metric('plinth_mail_server_up'), 1)
      assert.equal(await metric('plinth_mail_attempts_total{result="accepted"'), 3)
    })

    test('is told apart from one that refuses single mails, which are in the log once', async (t) => {
      const refuse = () => ({ code: 550, text: 'no such user' })
      const { aboutMail, register, tried, metric } = await start(t, engine, { refuse })
      for (let n = 0; n < 3; n += 1) await register()
      await tried(1)

      assert.deepEqual([aboutMail().length, aboutMail()[0]?.slice(0, 4)], [1, 'warn'])
      assert.equal(await metric('plinth_mail_server_up'), 1)
      assert.equal(await metric('plinth_mail_attempts_total{result="refused"'), 3)
    })
  })
}

test('a mail server that accepts a connection and says nothing is in the log', async (t) => {
  const { aboutMail, register, tried } = await start(t, undefined, { holds: () => true })
  await register()
  await tried(1)

  assert.match(aboutMail()[0] ?? '', /^error .*mail server/)
})
