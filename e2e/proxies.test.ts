import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import {
  identityClient,
  paymentsClient,
  type StoredFile,
  storageClient,
  storageKeyClient,
} from '@plinth/client'
import type { Browser } from 'playwright-core'
import { freePorts } from '../test/servers/free-ports.ts'
import { proxyMissing, startProxy } from '../test/servers/proxy.ts'
import { suiteCleanup } from '../test/suite-cleanup.ts'
import { until } from '../test/until.ts'
import { browserSkip, openBrowser } from './browser.ts'
import { openConsole, signIn } from './consoles/watched-page.ts'
import { startSuite } from './stack.ts'

const PDF = new Blob(['%PDF-1.4\n%%EOF\n'], { type: 'application/pdf' })
const PASSWORD = 'password123123'
const PATHS = {
  identity: '/identity',
  'storage-full': '/files',
  'storage-key': '/store',
  payments: '/payments',
  'provider-sandbox': '/provider',
}
const PREFIXES = ['SUITE', 'IDENTITY', 'STORAGE_FULL', 'STORAGE_KEY', 'PAYMENTS', 'SANDBOX']
const missing = { nginx: await proxyMissing('nginx'), caddy: await proxyMissing('caddy') }
const noBrowser = await browserSkip()

type Health = { status: string }
type Actuator = { _links: { health: { href: string } } }
type Listed = { consoleUrl: string }

describe('the suite below paths of one host', () => {
  const shared = suiteCleanup()
  let suite: Awaited<ReturnType<typeof startSuite>>
  let browser: Browser
  let port = 0
  const origin = () => `http://localhost:${port}`

  before(async () => {
    ;[port = 0] = await freePorts(1)
    const paths = ['/suite', ...Object.values(PATHS)]
    const settings = PREFIXES.flatMap((prefix, index) => [
      [`${prefix}_PUBLIC_URL`, `${origin()}${paths[index]}`],
      [`${prefix}_TRUSTED_PROXIES`, 'loopback'],
    ])
    suite = await startSuite(shared, Object.fromEntries(settings))
    if (!noBrowser) browser = await openBrowser(shared)
  })

  for (const program of ['nginx', 'caddy'] as const)
    for (const strips of [true, false])
      describe(`${program} that ${strips ? 'strips' : 'passes on'} the path`, {
        skip: missing[program],
      }, () => {
        const proxy = suiteCleanup()

        before(async () => {
          const services = Object.entries(PATHS).map(
            ([name, path]) => [path, suite.directUrlOf(name)] as [string, string],
          )
          const routes: [string, string][] = [['/suite', suite.landingUrl], ...services]
          await startProxy(proxy, { program, port, strips, routes })
        })

        test('login, cookie, redirects, actuator', async () => {
          const base = suite.urlOf('identity')
          const identity = identityClient(base)
          await identity.logIn('user', PASSWORD)

          const redirect = await fetch(`${base}/api-test`, { redirect: 'manual' })
          const cookie = (await fetch(`${base}/webauthn/csrf`)).headers.get('set-cookie')
          const { _links } = await jsonAt<Actuator>(`${base}/actuator`)
          const refused = await jsonAt<{ instance: string }>(`${base}/api/users/me`)

          assert.equal((await identity.account.get()).username, 'user')
          assert.equal(redirect.headers.get('location'), '/identity/api-test/index.html')
          assert.match(cookie ?? '', /; Path=\/identity; SameSite=Strict$/)
          assert.equal(_links.health.href, `${base}/actuator/health`)
          assert.equal((await jsonAt<Health>(_links.health.href)).status, 'UP')
          assert.equal(refused.instance, '/identity/api/users/me')
        })

        test('upload, Location and temporary link', async () => {
          const base = suite.urlOf('storage-full')
          const storage = storageClient(base)
          const { accessToken } = await storage.logIn('user', PASSWORD)
          const headers = { authorization: `Bearer ${accessToken}` }
          const body = new FormData()
          body.set('file', PDF, 'paper.pdf')

          const uploaded = await fetch(`${base}/file`, { method: 'POST', headers, body })
          const location = new URL(uploaded.headers.get('location') ?? '', uploaded.url)
          const file = await jsonAt<StoredFile>(location.href, { headers })
          const link = await storage.links.create(file.id, 60)

          assert.equal(uploaded.status, 201)
          assert.deepEqual(await (await fetch(link.url)).bytes(), await PDF.bytes())
        })

        test('upload to and download from the key edition', async () => {
          const storage = storageKeyClient(suite.urlOf('storage-key'), 'storage-local-dev-key')

          const name = await storage.files.upload(PDF, 'paper.pdf')

          assert.deepEqual(await (await storage.files.download(name)).bytes(), await PDF.bytes())
          assert.ok((await storage.files.list()).includes(name))
        })

        test('a checkout on the hosted page, and back', async () => {
          const payments = paymentsClient(suite.urlOf('payments'))
          const businessReference = `order-${program}-${strips}`
          const checkout = await payments.checkouts.create({
            amount: 2500,
            currency: 'EUR',
            description: 'A book',
            businessReference,
            attemptReference: 'first',
          })

          const page = await (await fetch(checkout.checkoutUrl)).text()
          const assets = await statusesOf(assetsOf(page, checkout.checkoutUrl))
          const action = /action="([^"]+\/card)"/.exec(page)?.[1] ?? ''
          const paid = await fetch(new URL(action, checkout.checkoutUrl), {
            method: 'POST',
            body: new URLSearchParams({ number: '4242424242424242', expiry: '12/60', cvc: '123' }),
          })

          assert.ok(checkout.checkoutUrl.startsWith(`${origin()}/provider/pay/`))
          assert.deepEqual(assets, [200])
          assert.equal(paid.status, 200)
          const back = `${origin()}/payments/api-test/index.html?checkout=success`
          assert.equal(paid.url, `${back}&payment=${checkout.paymentId}`)
          await until(
            async () => (await payments.payments.get(checkout.paymentId)).status,
            (status) => status === 'PAID',
          )
        })

        test('every console loads its assets', async () => {
          const services = await jsonAt<Listed[]>(`${origin()}/suite/api/services`)
          const pages = services.map(({ consoleUrl }) => consoleUrl)

          for (const page of [`${origin()}/suite/`, ...pages]) {
            const reply = await fetch(page)
            const assets = assetsOf(await reply.text(), reply.url)
            assert.deepEqual([reply.status, ...(await statusesOf(assets))], [200, 200, 200], page)
          }
        })

        test('a console in a browser finds its service', { skip: noBrowser }, async (t) => {
          const page = await openConsole(t, browser, `${suite.urlOf('identity')}/api-test`)

          await signIn(page, 'user')

          await page.getByText('Signed in as user.').waitFor()
        })
      })
})

async function jsonAt<Body>(url: string, init?: RequestInit): Promise<Body> {
  return (await (await fetch(url, init)).json()) as Body
}

/** The URLs that a page loads from its own server. */
function assetsOf(page: string, address: string): string[] {
  const links = page.matchAll(/<(?:link|script)[^>]+(?:href|src)="(?!data:)([^"]+)"/g)
  return [...links].map(([, link = '']) => new URL(link, address).href)
}

async function statusesOf(urls: string[]): Promise<number[]> {
  return Promise.all(urls.map(async (url) => (await fetch(url)).status))
}
