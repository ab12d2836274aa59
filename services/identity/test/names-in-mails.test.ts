import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { describe, test } from 'node:test'
import type { Api } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { loadConfig } from '../src/app.ts'
import { type MailKind, readMessages, renderMail } from '../src/mail/messages.ts'
import { LANGUAGES } from '../src/mail/settings.ts'
import { mailTo, tokenOf } from './inbox.ts'
import { ALICE, adminToken, engines, MASTER_KEY, startIdentity } from './start-identity.ts'

const BAIT = 'locked! unlock at https://evil.example'
const EVE = { username: BAIT, email: 'victim@example.com', password: ALICE.password }
const OTHER_ADDRESS = 'www.evil.example/unlock@evil.example'

type Mail = { kind: string; to: string; subject: string; text: string; html: string }

/** Waits until there are as many mails, and returns them by kind. */
async function mailsIn(api: Api, count: number): Promise<Mail[]> {
  const read = async () => (await api.get('/api/dev/mail')).body as Mail[]
  return until(read, (mails) => mails.length >= count)
}

/** Their readers may not have chosen the username, or have none yet. */
const NAMELESS = ['verify-email', 'email-change', 'invitation', 'sign-up-code', 'account-emptied']

function namesBait({ subject, text, html }: Mail): boolean {
  return /evil\.example|unlock/.test(subject + text + html)
}

for (const engine of engines)
  describe(
    `a mail to an address that its owner has not verified, on ${engine.name}`,
    engine.options,
    () => {
      test('does not carry a link that a stranger has put into a username', async (t) => {
        const { api } = await startIdentity(t, { engine, env: { IDENTITY_MAIL_LIMITS: 'false' } })
        await api.post('/api/auth/register', EVE)
        const { body: pair } = await api.post('/api/auth/login', EVE)
        const token = pair.accessToken
        const admin = { token: await adminToken(api) }
        const { id } = (await api.get('/api/users/me', { token })).body
        const password = { currentPassword: EVE.password, newPassword: 'another good password' }

        await api.post('/api/auth/password-reset', { email: EVE.email })
        await api.post('/api/auth/verify-email/resend', { email: EVE.email })
        await api.post('/api/users/me/email', { newEmail: 'second@example.com' }, { token })
        await api.post('/api/users/me/export', undefined, { token })
        await mailsIn(api, 5)
        await api.post('/api/users/me/password', password, { token })
        await api.post('/api/users', { username: 'unlock', email: 'third@example.com' }, admin)
        await api.post(`/api/users/${id}/password-reset`, { reason: 'asked for' }, admin)
        await api.delete('/api/users/me', { token })

        const mails = await mailsIn(api, 8)
        const kinds = new Set(mails.map(({ kind }) => kind))
        for (const kind of ['verify-email', 'password-reset', 'email-change', 'password-changed'])
          assert.ok(kinds.has(kind), kind)
        assert.deepEqual(mails.filter(namesBait), [])
      })

      test('does not carry a link that a stranger has put into another address', async (t) => {
        const { api } = await startIdentity(t, { engine, env: { IDENTITY_MAIL_LIMITS: 'false' } })
        await api.post('/api/auth/register', EVE)
        const { body: pair } = await api.post('/api/auth/login', EVE)
        const { accessToken: token } = pair
        await api.post('/api/users/me/email', { newEmail: OTHER_ADDRESS }, { token })
        const change = await mailTo(api, OTHER_ADDRESS, 'email-change')
        await api.post('/api/users/me/email/confirm', { token: tokenOf(change) })

        const mail = await mailTo(api, EVE.email, 'email-changed')

        assert.match(mail.text, /^Hello,\n\nThe address of your account has changed\.\n\n/)
        assert.ok(!namesBait({ subject: '', ...mail }))
      })

      test('names the user as soon as it is verified', async (t) => {
        const { api } = await startIdentity(t, { engine })
        await api.post('/api/auth/register', ALICE)
        const verify = await mailTo(api, ALICE.email, 'verify-email')
        await api.post('/api/auth/verify-email', { token: tokenOf(verify) })

        await api.post('/api/auth/password-reset', { email: ALICE.email })

        const reset = await mailTo(api, ALICE.email, 'password-reset')
        assert.match(verify.text, /^Hello,\n/)
        assert.match(reset.text, /^Hello alice,\n/)
      })

      test('leaves an invited user to find the username in the next mail', async (t) => {
        const { api } = await startIdentity(t, { engine })
        const admin = { token: await adminToken(api) }
        const [username, email] = ['bob', 'bob@example.com']
        await api.post('/api/users', { username, email, reason: 'new colleague' }, admin)
        const invitation = await mailTo(api, email, 'invitation')
        const chosen = { token: tokenOf(invitation), newPassword: 'another good password' }

        const confirmed = await api.post('/api/auth/password-reset/confirm', chosen)

        assert.equal(confirmed.status, 204)
        assert.match(invitation.text, /^Hello,\n/)
        assert.match((await mailTo(api, email, 'password-changed')).text, /^Hello bob,\n/)
      })

      test('names no one when a stranger registers it again', async (t) => {
        const unlimited = { IDENTITY_MAIL_LIMITS: 'false' }
        const { api, config } = await startIdentity(t, { engine, env: unlimited })
        await api.post('/api/auth/register', EVE)
        const { databaseUrl: IDENTITY_DATABASE_URL } = config
        const env = { ...unlimited, IDENTITY_DATABASE_URL, IDENTITY_REGISTRATION: 'confirm' }
        const confirming = await startIdentity(t, { engine, env })

        await confirming.api.post('/api/auth/register', { ...EVE, username: 'mallory' })

        const mail = await mailTo(confirming.api, EVE.email, 'already-registered')
        assert.match(mail.text, /^Hello,\n/)
        assert.ok(!namesBait({ subject: '', ...mail }))
      })
    },
  )

describe('the text of a mail', () => {
  const env = { SUITE_DATA: tmpdir(), IDENTITY_MASTER_KEY: MASTER_KEY }
  const messages = readMessages(loadConfig(env).mail)
  const details = {
    app: 'Plinth',
    code: '12345678',
    link: 'https://app.example/#reset=token',
    endpoint: 'https://app.example/events',
    date: '31 January 2030',
    time: '31 January 2030',
    remaining: '7',
    address: '203.0.113.7',
    browser: 'Firefox',
  }
  const names = { username: '<b>zoe', newEmail: 'zoe@new.example' }

  for (const language of LANGUAGES)
    test(`reads well in ${language}, with and without names`, () => {
      for (const kind of Object.keys(messages[language].mails) as MailKind[]) {
        const { text } = renderMail(messages[language], kind, details)
        const named = renderMail(messages[language], kind, { ...details, ...names })

        assert.doesNotMatch(text, /[[\]{}]| [,.:]|[,:][,:]/, `${kind}: ${text}`)
        assert.doesNotMatch(named.text, /[[\]{}]/, kind)
        const mayName = !NAMELESS.includes(kind)
        assert.equal(named.text.includes('<b>zoe'), mayName, kind)
        assert.equal(named.html.includes('&lt;b&gt;zoe'), mayName, kind)
      }
    })
})
