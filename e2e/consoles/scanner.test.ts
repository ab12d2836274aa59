import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Browser, Request } from 'playwright-core'
import { engines } from '../../test/servers/databases.ts'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { startSuite } from '../stack.ts'

const skip = await browserSkip()
const PASSWORD = 'correct horse battery'
const NEW_PASSWORD = 'an entirely new password'

type Mail = { kind: string; link: string }

/** The service as a client and an administrator see it. */
function accountsAt(identity: string) {
  const call = async (method: string, path: string, body?: object, token?: string) => {
    const headers = {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    }
    const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const reply = await fetch(`${identity}${path}`, sent)
    const text = await reply.text()
    const isJson = /json/.test(reply.headers.get('content-type') ?? '')
    return { status: reply.status, body: isJson ? JSON.parse(text) : text }
  }
  const post = (path: string, body?: object, token?: string) => call('POST', path, body, token)
  const tokenOf = async (username: string, password = PASSWORD): Promise<string> =>
    (await post('/api/auth/login', { username, password })).body.accessToken
  const mailTo = async (to: string, kind: string): Promise<Mail> => {
    const read = async () => {
      const { body } = await call('GET', `/api/dev/mail?to=${encodeURIComponent(to)}`)
      return (body as Mail[]).find((mail) => mail.kind === kind)
    }
    return (await until(read, (mail) => mail !== undefined)) as Mail
  }
  const addressOf = (name: string) => `${name}@example.com`
  const register = (name: string) =>
    post('/api/auth/register', { username: name, email: addressOf(name), password: PASSWORD })
  /** An account with a verified address, and an access token for it. */
  const account = async (name: string) => {
    await register(name)
    const { link } = await mailTo(addressOf(name), 'verify-email')
    assert.equal((await post('/api/auth/verify-email', { token: secretOf(link) })).status, 204)
    return { email: addressOf(name), token: await tokenOf(name) }
  }
  return { call, post, tokenOf, mailTo, addressOf, register, account }
}

const secretOf = (link: string) => new URL(link).hash.split('=')[1] ?? ''

type Accounts = ReturnType<typeof accountsAt>

type Owner = Awaited<ReturnType<Accounts['account']>>

type Case = { link: string; use(token: string): Promise<{ status: number }> }

/** A link of every kind that our mails contain, and what a person does with it. */
async function everyLink(accounts: Accounts, admin: string): Promise<Record<string, Case>> {
  const { call, post, mailTo, addressOf, register, account } = accounts
  const choose = (token: string) =>
    post('/api/auth/password-reset/confirm', { token, newPassword: NEW_PASSWORD })
  const verify = (token: string) => post('/api/auth/verify-email', { token })
  const linkTo = async (to: string, kind: string) => (await mailTo(to, kind)).link
  const names = ['forgetful', 'reset', 'mover', 'moved', 'exporter', 'robbed', 'leaver']
  const [forgetful, reset, mover, moved, exporter, robbed, leaver] = (await Promise.all(
    names.map(account),
  )) as [Owner, Owner, Owner, Owner, Owner, Owner, Owner]

  await register('newcomer')
  await post('/api/auth/verify-email/resend', { email: 'user@example.com' })
  await post('/api/auth/password-reset', { email: forgetful.email })
  const { body: found } = await call('GET', '/api/users?q=reset', undefined, admin)
  await post(`/api/users/${found.content[0].id}/password-reset`, { reason: 'asked for' }, admin)
  await post('/api/users', { username: 'guest', email: addressOf('guest') }, admin)
  await post('/api/users/me/email', { newEmail: 'mover@new.example' }, mover.token)
  await post('/api/users/me/email', { newEmail: 'moved@new.example' }, moved.token)
  const change = secretOf(await linkTo('moved@new.example', 'email-change'))
  assert.equal((await post('/api/users/me/email/confirm', { token: change })).status, 204)
  await post('/api/users/me/export', undefined, exporter.token)
  await post('/api/users/me/export/file', undefined, robbed.token)
  await call('DELETE', '/api/users/me', undefined, leaver.token)
  await post('/api/auth/register', {
    username: 'stranger',
    email: 'admin@example.com',
    password: PASSWORD,
  })

  return {
    'the confirmation of a registration': {
      link: await linkTo(addressOf('newcomer'), 'verify-email'),
      use: verify,
    },
    'the confirmation of an address': {
      link: await linkTo('user@example.com', 'verify-email'),
      use: verify,
    },
    'a reset': { link: await linkTo(forgetful.email, 'password-reset'), use: choose },
    'a reset by an administrator': {
      link: await linkTo(reset.email, 'password-reset-by-administrator'),
      use: choose,
    },
    'an invitation': { link: await linkTo(addressOf('guest'), 'invitation'), use: choose },
    'a new address': {
      link: await linkTo('mover@new.example', 'email-change'),
      use: (token) => post('/api/users/me/email/confirm', { token }),
    },
    'the undo of a new address': {
      link: await linkTo(moved.email, 'email-changed'),
      use: (token) => post('/api/users/me/email/undo', { token }),
    },
    'the data of the account': {
      link: await linkTo(exporter.email, 'data-export'),
      use: (token) => post('/api/users/me/export/download', { token }),
    },
    '"this was not me"': {
      link: await linkTo(robbed.email, 'data-exported'),
      use: (token) => post('/api/auth/not-me', { token }),
    },
    'the account that is to be erased': {
      link: await linkTo(leaver.email, 'deletion-requested'),
      use: (token) => post('/api/users/me/deletion/cancel', { token }),
    },
    'the page for a forgotten password': {
      link: await linkTo('admin@example.com', 'already-registered'),
      use: () => post('/api/auth/password-reset', { email: 'admin@example.com' }),
    },
  }
}

/**
 * Opens a link as mail scanners do: HEAD, GET, run the scripts, submit every form. Returns the paths that the page
 * posted to.
 */
async function scan(browser: Browser, link: string): Promise<string[]> {
  await fetch(link, { method: 'HEAD' })
  await fetch(link)
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(link)
  await page.locator('h1').first().waitFor()
  const pending = new Set<Request>()
  const posts: string[] = []
  page.on('request', (request) => {
    pending.add(request)
    if (request.method() === 'POST') posts.push(new URL(request.url()).pathname)
  })
  page.on('requestfinished', (request) => pending.delete(request))
  page.on('requestfailed', (request) => pending.delete(request))
  const settled = async () => {
    const idle = 'new Promise((done) => requestIdleCallback(done, { timeout: 1000 }))'
    // A form that navigates away ends the page's scripts.
    await page.evaluate(idle).catch(() => {})
    await until(
      () => pending.size,
      (count) => count === 0,
    )
  }
  // First through the page's scripts, because a plain submit leaves the page. Closing earlier would drop the posts.
  await page.evaluate('for (const form of [...document.forms]) form.requestSubmit()')
  await settled()
  await page.evaluate('for (const form of [...document.forms]) form.submit()')
  await page.waitForLoadState()
  await settled()
  await context.close()
  return posts
}

describe('a mail scanner that opens every link', { skip }, () => {
  const shared = suiteCleanup()
  let browser: Browser

  before(async () => {
    browser = await openBrowser(shared)
  })

  for (const engine of engines)
    test(`uses up no link, whatever it submits, on ${engine.name}`, engine.options, async (t) => {
      const databaseUrl = await engine.freshUrl(t)
      const settings = {
        IDENTITY_DATABASE_URL: databaseUrl,
        IDENTITY_REGISTRATION: 'confirm',
      }
      const { urlOf } = await startSuite(t, settings, ['identity'])
      const accounts = accountsAt(urlOf('identity'))
      const admin = await accounts.tokenOf('admin', 'password123123')
      const cases = await everyLink(accounts, admin)
      /** Everything administrators see: every user, every event and every mail. */
      const state = async () => {
        const paths = ['/api/users', '/api/audit', '/api/mail'].map((path) => `${path}?size=500`)
        const replies = paths.map((path) => accounts.call('GET', path, undefined, admin))
        return (await Promise.all(replies)).map(({ body }) => body.content)
      }
      const before = await until(state, ([, , mails]) =>
        mails.every(({ state }: { state: string }) => state === 'sent'),
      )

      const posts = await Promise.all(Object.values(cases).map(({ link }) => scan(browser, link)))

      // These lack the password and the address that a person would type.
      const forms = ['/api/auth/password-reset', '/api/auth/password-reset/confirm']
      assert.deepEqual([...new Set(posts.flat())].toSorted(), forms)
      assert.deepEqual(await state(), before)
      for (const [name, { link, use }] of Object.entries(cases)) {
        const { status } = await use(secretOf(link))
        assert.ok([200, 202, 204].includes(status), `${name}: ${status}`)
      }
      assert.ok(await accounts.tokenOf('newcomer'))
      for (const name of ['forgetful', 'reset', 'guest'])
        assert.ok(await accounts.tokenOf(name, NEW_PASSWORD), name)
    })
})
