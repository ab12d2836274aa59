import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { IdentityClient } from '@plinth/client'
import type { Browser, BrowserContext } from 'playwright-core'
import { freePorts } from '../../test/servers/free-ports.ts'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { LINTERS, lint } from '../package-linters.ts'
import { startSuite } from '../stack.ts'
import { compileProgram, installClient, runProgram } from './installed-client.ts'
import { bun, deno, oldNode, runInWorker, workerd } from './runtimes.ts'

const SEEN = (name: string) =>
  [name, true, 'ACCESS_DENIED', 15, '%PDF-1.4\n%%EOF\n', true, 'PENDING', 'MISSING_HEADER'] as const

const noBrowser = await browserSkip()
const obtained = <T>(runtime: Promise<T>) => runtime.catch((error) => new Error(error.message))
const runtimes = [
  ['Node 20', await obtained(oldNode().then((node) => [node]))],
  ['Deno', await obtained(deno())],
  ['Bun', await obtained(bun())],
] as const
const worker = await obtained(workerd())

describe('the packed client, installed outside the repository', async () => {
  const [port = 0] = await freePorts(1)
  const origin = `http://localhost:${port}`
  const { urlOf } = await startSuite({ after }, allowing(origin))
  const urls = {
    identity: urlOf('identity'),
    storage: urlOf('storage-full'),
    storageKey: urlOf('storage-key'),
    payments: urlOf('payments'),
  }
  const { folder, tarball } = await installClient({ after })
  await compileProgram(folder)
  await serve(folder, port)

  test('has compiled code, declarations and no dependencies', () => {
    const manifest = readFileSync(join(folder, 'node_modules/@plinth/client/package.json'), 'utf8')
    const {
      exports,
      dependencies,
      devDependencies,
      engines,
      private: isPrivate,
    } = JSON.parse(manifest)

    assert.deepEqual([dependencies, devDependencies, isPrivate], [undefined, undefined, undefined])
    assert.deepEqual(engines, { node: '>=20' })
    assert.deepEqual(Object.keys(exports['.']), ['types', 'default'])
  })

  for (const tool of LINTERS)
    test(`${tool} reports no problems`, async () => {
      assert.match(await lint(tool, tarball), /client/)
    })

  test('works on this Node', async () => {
    assert.deepEqual(await runProgram([process.execPath], folder, [urls, 'ada']), SEEN('ada'))
  })

  for (const [name, runtime] of runtimes)
    test(`works on ${name}`, { skip: runtime instanceof Error && runtime.message }, async () => {
      const user = name.replace(' ', '').toLowerCase()
      const words = runtime instanceof Error ? [] : runtime
      assert.deepEqual(await runProgram(words, folder, [urls, user]), SEEN(user))
    })

  test('works in a worker', { skip: worker instanceof Error && worker.message }, async () => {
    assert.deepEqual(await runInWorker(String(worker), folder, [urls, 'wendy']), SEEN('wendy'))
  })

  describe('in Chromium', { skip: noBrowser }, () => {
    const shared = suiteCleanup()
    let browser: Browser
    before(async () => {
      browser = await openBrowser(shared)
    })

    test('works', async () => {
      const context = await browser.newContext()
      const page = await openTab(context)

      const seen = await page.evaluate(
        async ([program, given, name]) => (await import(program)).main(given, name),
        [`${origin}/program.js`, urls, 'cleo'] as const,
      )

      assert.deepEqual(seen, SEEN('cleo'))
    })

    test('ten tabs with one refresh token stay signed in with one refresh', async (t) => {
      const { tabs, refreshes, signIn, callAll } = await openTenTabs(t, browser)
      await signIn()

      const first = await callAll(850)
      const second = await callAll(100)
      const third = await callAll(1700)

      for (const names of [first, second, third])
        assert.deepEqual(
          names,
          tabs.map(() => 'user'),
        )
      assert.deepEqual(refreshes, [200, 200])
    })

    test('a tab that slept through two refreshes does not need to refresh itself', async (t) => {
      const { tabs, refreshes, signIn, call } = await openTenTabs(t, browser)
      await signIn()
      const [awake, asleep] = tabs

      await call(awake, 850)
      await call(awake, 1700)
      const name = await call(asleep, 1700)

      assert.equal(name, 'user')
      assert.deepEqual(refreshes, [200, 200])
    })

    test('a tab closed during a refresh does not sign out the others', async (t) => {
      const { tabs, refreshes, signIn, call } = await openTenTabs(t, browser)
      await signIn()
      const [closed, ...others] = tabs
      // Requests of this tab never reach the network.
      await closed?.evaluate(() => {
        globalThis.fetch = () => {
          Object.assign(globalThis, { isWaiting: true })
          return new Promise(() => {})
        }
      })
      const lost = call(closed, 850).catch((error) => error)
      await closed?.waitForFunction('globalThis.isWaiting')

      const names = others.map((tab) => call(tab, 850))
      await closed?.close()

      assert.match(String(await lost), /closed/)
      assert.deepEqual(new Set(await Promise.all(names)), new Set(['user']))
      assert.deepEqual(refreshes, [200])
    })

    test('ten tabs stay signed in without Web Locks', async (t) => {
      const { refreshes, signIn, callAll } = await openTenTabs(t, browser, { locks: false })
      await signIn()

      const names = await callAll(850)

      assert.deepEqual(new Set(names), new Set(['user']))
      assert.equal(refreshes.filter((status) => status === 200).length, 1)
    })
  })

  async function openTab(context: BrowserContext) {
    const page = await context.newPage()
    await page.goto(origin)
    return page
  }

  type Tab = Awaited<ReturnType<typeof openTab>>

  /** Ten tabs that share a store, each with a clock that the test sets. */
  async function openTenTabs(t: TestContext, browser: Browser, { locks = true } = {}) {
    const context = await browser.newContext()
    t.after(() => context.close())
    if (!locks)
      await context.addInitScript(() =>
        Object.defineProperty(navigator, 'locks', { value: undefined }),
      )
    const refreshes: number[] = []
    context.on('response', (response) => {
      if (response.url().endsWith('/api/auth/refresh') && response.request().method() === 'POST')
        refreshes.push(response.status())
    })
    const tabs = await Promise.all(Array.from({ length: 10 }, () => openTab(context)))
    for (const tab of tabs)
      await tab.evaluate(async (url) => {
        const { identityClient, webStore } = await import('@plinth/client')
        const state = { seconds: 0, client: undefined as unknown }
        const now = () => state.seconds * 1000
        state.client = identityClient(url, { store: webStore(), now })
        Object.assign(globalThis, { state })
      }, urls.identity)
    const call = (tab: Tab | undefined, seconds: number): Promise<string | undefined> =>
      tab?.evaluate(async (at) => {
        const { state } = globalThis as unknown as {
          state: { seconds: number; client: IdentityClient }
        }
        state.seconds = at
        return (await state.client.account.get()).username
      }, seconds) ?? Promise.resolve(undefined)
    const callAll = (seconds: number) => Promise.all(tabs.map((tab) => call(tab, seconds)))
    const signIn = () =>
      tabs[0]?.evaluate(async () => {
        const { state } = globalThis as unknown as {
          state: { client: IdentityClient }
        }
        await state.client.logIn('user', 'password123123')
      })
    return { tabs, refreshes, signIn, call, callAll }
  }
})

function allowing(origin: string): Record<string, string> {
  const services = ['IDENTITY', 'STORAGE_FULL', 'STORAGE_KEY', 'PAYMENTS']
  return Object.fromEntries(services.map((name) => [`${name}_CORS_ORIGINS`, origin]))
}

const TYPES: Record<string, string> = { js: 'text/javascript', '': 'text/html' }

/** The integrator's page, with an import map instead of a bundler. */
async function serve(folder: string, port: number): Promise<void> {
  const { exports } = JSON.parse(
    readFileSync(join(folder, 'node_modules/@plinth/client/package.json'), 'utf8'),
  )
  const imports = Object.entries<{ default?: string }>(exports).map(([name, { default: file }]) => [
    name.replace('.', '@plinth/client'),
    file?.replace('.', '/node_modules/@plinth/client'),
  ])
  const map = JSON.stringify({ imports: Object.fromEntries(imports) })
  const page = `<!doctype html><title>Integrator</title><script type="importmap">${map}</script>`
  const server = createServer(({ url = '/' }, response) => {
    const extension = url.split('.')[1] ?? ''
    const type = TYPES[extension]
    if (!type) return response.writeHead(404).end()
    const body = extension === '' ? page : readFileSync(join(folder, url))
    return response.writeHead(200, { 'content-type': type }).end(body)
  })
  await once(server.listen(port, 'localhost'), 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
}
