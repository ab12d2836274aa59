import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { loadConfig } from '../src/app.ts'
import { mailTo } from './inbox.ts'
import { ALICE, adminToken, engines, MASTER_KEY, sharedIdentity } from './start-identity.ts'

const PICTURE = '<svg xmlns="http://www.w3.org/2000/svg"/>'

const folder = mkdtempSync(join(tmpdir(), 'brand-'))
const logo = join(folder, 'logo.svg')
writeFileSync(logo, PICTURE)
after(() => rmSync(folder, { recursive: true }))
const brand = {
  IDENTITY_APP_NAME: 'Orchard & Co',
  IDENTITY_APP_COLOUR: '#1f7a4d',
  IDENTITY_APP_LOGO: logo,
}

/** Sent after the password stopped working: they have a code, but nothing that could be ignored. */
const AFTER_THE_FACT = [
  'password-reset-by-administrator',
  'password-reset-keeping-passkeys',
  'registered-twice',
  'password-ended',
]
const BY_STRANGERS = ['email-taken', 'already-registered']
const CODE = /^1234-5678$/m
const saysWhenToIgnore = (kind: string, text: string) =>
  BY_STRANGERS.includes(kind) || (CODE.test(text) && !AFTER_THE_FACT.includes(kind))
const IGNORE = { en: /ignore this mail/, de: /ignoriere diese Mail/, es: /ignora este mensaje/ }

for (const engine of engines)
  describe(`the account pages on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine, env: brand })

    for (const path of ['sign-in?authorization=x', 'sign-out?request=x'])
      test(`/account/${path} is HTML that is not cached or framed, calls no other host, and sends no referrer`, async () => {
        const { status, headers } = await identity().api.get(`/account/${path}`)

        assert.equal(status, 200)
        assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.equal(headers.get('referrer-policy'), 'no-referrer')
        const policy = headers.get('content-security-policy') ?? ''
        assert.match(policy, /frame-ancestors 'none'/)
        assert.match(policy, /connect-src 'self';/)
        assert.match(policy, /form-action 'none'/)
      })

    test('and everything they request forbid caching and send no referrer', async () => {
      const { api } = identity()
      const replies = {
        redirect: await api.get('/account'),
        page: await api.get('/account/'),
        document: await api.get('/account/index.html'),
        signIn: await api.get('/account/sign-in?authorization=unknown'),
        script: await api.get('/account/page.js'),
        styles: await api.get('/account/page.css'),
        brand: await api.get('/account/brand'),
        logo: await api.get('/account/logo'),
        refusal: await api.post('/api/auth/verify-email', { token: 'unknown' }),
        state: await api.post('/api/auth/links/state', { token: 'unknown' }),
        asked: await api.post('/api/auth/password-reset', { email: 'unknown@example.com' }),
      }

      for (const [name, { status, headers }] of Object.entries(replies)) {
        assert.ok(status < 404, `${name} is there`)
        assert.equal(headers.get('cache-control'), 'no-store', name)
        assert.equal(headers.get('referrer-policy'), 'no-referrer', name)
        assert.equal(headers.get('etag'), null, name)
      }
      const policy = replies.page.headers.get('content-security-policy') ?? ''
      assert.match(policy, /form-action 'none'/)
    })

    test('and the mails show the name and colour of the application; the pages also its logo', async () => {
      const { api } = identity()

      const { body } = await api.get('/account/brand')
      const picture = await api.get('/account/logo')
      const mail = await mailTo(api, ALICE.email, 'verify-email')

      const { name, colour, logo } = body
      assert.deepEqual(
        { name, colour, logo },
        { name: 'Orchard & Co', colour: '#1f7a4d', logo: true },
      )
      assert.equal(picture.headers.get('content-type'), 'image/svg+xml')
      assert.equal(picture.body, PICTURE)
      assert.match(
        picture.headers.get('content-security-policy') ?? '',
        /default-src 'none'.*sandbox/,
      )
      assert.match(mail.text, /^Orchard & Co$/m)
      assert.match(mail.html, /#1f7a4d/)
      assert.match(mail.html, />\d{4}-\d{4}<\/p>/)
      assert.match(mail.html, /Orchard &amp; Co/)
      assert.doesNotMatch(mail.html, /<img/)
    })

    test('let administrators preview every mail in each language', async () => {
      const { api, token } = identity()
      const path = '/api/mail/templates?language='
      const admin = await adminToken(api)

      for (const language of ['en', 'de', 'es'] as const) {
        const { body } = await api.get(`${path}${language}`, { token: admin })
        const kinds = body.map(({ kind }: { kind: string }) => kind)
        assert.ok(kinds.length > 30 && kinds.includes('verify-email'), language)
        assert.deepEqual(kinds, [...new Set(kinds)])
        for (const { kind, subject, text, html } of body) {
          assert.match(subject, /Orchard & Co/, `${kind} in ${language}`)
          assert.doesNotMatch(subject + text + html, /\{\w+\}|undefined/, `${kind} in ${language}`)
          assert.doesNotMatch(text, / {2}| ,|\(\)/, `${kind} in ${language} lacks a detail`)
          // The time, address and browser let readers tell whether it was them.
          assert.match(text, /2030.*203\.0\.113\.7.*Firefox/, `${kind} in ${language}`)
          // Codes, names and links stay out of the subject, which a locked screen shows.
          assert.doesNotMatch(subject, /\d{4}|\bada\b|http/, `${kind} in ${language}`)
          const link = /^https:\S+$/m.exec(text)?.[0]
          const inHtml = link ? html.includes(`<a href="${link}">${link}</a>`) : !/<a /.test(html)
          assert.ok(inHtml, `${kind} in ${language} has a different link in its HTML`)
          assert.equal(CODE.test(text), />1234-5678<\/p>/.test(html))
          if (saysWhenToIgnore(kind, text))
            assert.match(text, IGNORE[language], `${kind} in ${language}`)
        }
      }

      assert.equal((await api.get(`${path}fr`, { token: admin })).status, 400)
      assert.equal((await api.get(`${path}en`, { token })).status, 403)
      assert.equal((await api.get(`${path}en`)).status, 401)
    })
  })

test('the service does not start with an invalid colour or logo for its account pages', () => {
  const env = {
    SUITE_DATA: folder,
    IDENTITY_MASTER_KEY: MASTER_KEY,
    IDENTITY_APP_COLOUR: 'green;background:url(//evil.example)',
    IDENTITY_APP_LOGO: join(folder, 'logo.html'),
  }
  assert.throws(() => loadConfig(env), /IDENTITY_APP_COLOUR[\s\S]*IDENTITY_APP_LOGO/)
})
