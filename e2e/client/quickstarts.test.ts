import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, type TestContext, test } from 'node:test'
import { identityClient } from '@plinth/client'
import { type StorageClient, storageClient } from '@plinth/client/storage'
import { build } from 'esbuild'
import * as openid from 'openid-client'
import type { Page, Route } from 'playwright-core'
import { Webhook } from 'standardwebhooks'
import { freePorts } from '../../test/servers/free-ports.ts'
import { until } from '../../test/until.ts'
import { browserSkip, openBrowser } from '../browser.ts'
import { samplePng } from '../consoles/sample-files.ts'
import { addVirtualAuthenticator } from '../consoles/virtual-authenticator.ts'
import { startSuite } from '../stack.ts'

const FOLDER = join(import.meta.dirname, '../../docs/quickstarts')
const PASSWORD = 'password123123'
const WEBHOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const LARGE_BYTES = 12 * 2 ** 20
const noBrowser = await browserSkip()

describe('the quickstarts', async () => {
  const [port = 0, mcpPort = 0] = await freePorts(2)
  const mcp = `http://localhost:${mcpPort}/mcp`
  const origin = `http://localhost:${port}`
  const { urlOf } = await startSuite(
    { after },
    {
      IDENTITY_CORS_ORIGINS: origin,
      IDENTITY_PASSKEY_ORIGINS: origin,
      IDENTITY_RESOURCES: mcp,
      IDENTITY_CLIENT_DOCUMENTS: 'on',
      STORAGE_FULL_CORS_ORIGINS: origin,
    },
  )
  const identityUrl = urlOf('identity')
  const identity = identityClient(identityUrl)
  let settings: Record<string, string>
  let accessToken: string
  before(async () => {
    await identity.logIn('admin', PASSWORD)
    const key = { name: 'quickstart', scopes: ['tokens:introspect'] }
    const { secret } = await identity.keys.create(key)
    settings = { IDENTITY_URL: identityUrl, SERVICE_KEY: secret, WEBHOOK_SECRET, PORT: '0' }
    accessToken = (await identityClient(identityUrl).logIn('user', PASSWORD)).accessToken
  })

  for (const name of ['express.mjs', 'fastify.mjs'])
    test(`${name} identifies its caller and verifies webhooks`, async (t) => {
      const url = await start(t, name, settings)

      await check({ me: `${url}/me`, webhooks: `${url}/webhooks`, send: fetch }, accessToken)
    })

  test('next-route.mjs identifies its caller and verifies webhooks', async (t) => {
    Object.assign(process.env, settings)
    t.after(() => {
      for (const name of Object.keys(settings)) delete process.env[name]
    })
    const route = await import(join(FOLDER, 'next-route.mjs'))
    const send = (url: string, init: RequestInit) => {
      const request = new Request(url, init)
      return request.method === 'POST' ? route.POST(request) : route.GET(request)
    }

    await check({ me: origin, webhooks: origin, send }, accessToken)
  })

  test('take-payment.mjs takes a payment and learns by webhook that it is paid', async (t) => {
    const env = { PAYMENTS_URL: urlOf('payments'), PORT: '0', SHOP_DATABASE: ':memory:' }
    const shop = await start(t, 'take-payment.mjs', env)
    const ordered = await fetch(`${shop}/orders`, { method: 'POST', redirect: 'manual' })
    const [session = ''] = /cs_\w+/.exec(ordered.headers.get('location') ?? '') ?? []
    const sandbox = `${urlOf('provider-sandbox')}/sandbox/api/sessions`
    const sessions = (await (await fetch(sandbox)).json()) as Session[]
    const orderUrl = sessions.find(({ id }) => id === session)?.success_url ?? ''
    assert.match(await (await fetch(orderUrl)).text(), /refresh.*Waiting for the payment/)

    await fetch(`${sandbox}/${session}/pay`, { method: 'POST' })

    const state = await until(
      async () => (await fetch(orderUrl)).text(),
      (text) => !text.includes('Waiting'),
    )
    assert.match(state, /The chair is paid/)
    const forged = await fetch(`${shop}/webhooks`, { method: 'POST', body: '{}' })
    assert.deepEqual([forged.status, await forged.text()], [400, 'MISSING_HEADER'])
  })

  test('pictures.mjs shows a picture in several sizes', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'quickstart-'))
    t.after(() => rm(folder, { recursive: true }))
    const photo = join(folder, 'photo.png')
    await writeFile(photo, samplePng('photo.png').buffer)
    const login = { STORAGE_USER: 'user', STORAGE_PASSWORD: PASSWORD }
    const env = { STORAGE_URL: urlOf('storage-full'), PORT: '0', ...login }

    const url = await start(t, 'pictures.mjs', env, [photo])

    const page = await (await fetch(url)).text()
    const addresses = [...page.matchAll(/(http\S+\/picture\?width=\d+)/g)].map(([found]) => found)
    assert.equal(addresses.length, 4)
    for (const address of addresses) {
      const reply = await fetch(address, { headers: { accept: 'image/webp' } })
      assert.deepEqual([reply.status, reply.headers.get('content-type')], [200, 'image/webp'])
    }
  })

  describe('uppy.js', { skip: noBrowser }, () => {
    const storage = storageClient(urlOf('storage-full'))
    before(() => storage.logIn('user', PASSWORD))
    const open = async (t: TestContext) => {
      await servePage(t, port, { file: 'uppy.js', data: { storage: urlOf('storage-full') } })
      const page = await (await openBrowser(t)).newPage()
      const sent: string[] = []
      page.on('response', (response) => {
        const method = response.request().method()
        if (method !== 'OPTIONS' && response.url().includes('/file/uploads'))
          sent.push(`${method} ${response.status()}`)
      })
      await page.goto(origin)
      await page.getByLabel('Username').fill('user')
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.locator('.uppy-Dashboard-AddFiles').waitFor()
      return { page, sent }
    }
    const start = (page: Page) => page.getByRole('button', { name: /^Upload \d files?$/ }).click()
    const stored = (page: Page) => page.getByLabel('Stored files').getByRole('listitem')
    /** Two pieces; the second one waits until the test says what happens to it. */
    const chooseLarge = (page: Page, name: string) => {
      const buffer = Buffer.alloc(LARGE_BYTES, 'Plinth ')
      const file = { name, mimeType: 'text/plain', buffer }
      return page.locator('input[type=file]').first().setInputFiles(file)
    }
    const secondPiece = async (page: Page, then: (route: Route) => Promise<void>) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      let pieces = 0
      await page.route('**/file/uploads/*', async (route) => {
        if (route.request().method() !== 'PATCH' || ++pieces !== 2) return route.continue()
        await then(route)
        resolve()
      })
      return promise
    }

    test('uploads a folder that is dropped into the page', async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'quickstart-'))
      t.after(() => rm(folder, { recursive: true }))
      await mkdir(join(folder, 'holiday/beach'), { recursive: true })
      await writeFile(join(folder, 'holiday/one.txt'), 'one')
      await writeFile(join(folder, 'holiday/beach/two.txt'), 'two')
      await writeFile(join(folder, 'three.txt'), 'three')
      const { page } = await open(t)

      await drop(page, '.uppy-Dashboard-AddFiles', [
        join(folder, 'holiday'),
        join(folder, 'three.txt'),
      ])
      await start(page)

      await stored(page).nth(2).waitFor()
      const lines = await stored(page).allTextContents()
      assert.deepEqual(lines.toSorted(), [
        '/holiday/beach/two.txt',
        '/holiday/one.txt',
        '/three.txt',
      ])
    })

    test('goes on after a reload, with the bytes that had arrived', async (t) => {
      const { page, sent } = await open(t)
      const reached = secondPiece(page, async () => {})
      await chooseLarge(page, 'reload.txt')
      await start(page)
      await reached
      sent.length = 0

      await page.reload()
      await start(page)

      await stored(page).getByText('/reload.txt').waitFor()
      assert.deepEqual(sent, ['HEAD 200', 'PATCH 204'])
      assert.deepEqual(await sizesOf(storage, 'reload.txt'), [LARGE_BYTES])
    })

    test('waits while there is no network, and goes on by itself', async (t) => {
      const { page, sent } = await open(t)
      const reached = secondPiece(page, async (route) => {
        await page.context().setOffline(true)
        await route.abort('internetdisconnected')
      })
      await chooseLarge(page, 'offline.txt')
      await start(page)
      await reached
      sent.length = 0

      await page.context().setOffline(false)

      await stored(page).getByText('/offline.txt').waitFor()
      assert.deepEqual(sent, ['HEAD 200', 'PATCH 204'])
      assert.deepEqual(await sizesOf(storage, 'offline.txt'), [LARGE_BYTES])
    })
  })

  test('react-passkey.jsx signs in with a passkey', { skip: noBrowser }, async (t) => {
    await servePage(t, port, { file: 'react-passkey.jsx', data: { identity: identityUrl } })
    const page = await (await openBrowser(t)).newPage()
    await addVirtualAuthenticator(page)
    await page.goto(origin)
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
    await page.getByLabel('Username').fill('user')
    await page.getByLabel('Password').fill(PASSWORD)
    await press('Sign in')
    await page.getByText('Signed in as user').waitFor()
    const added = page.waitForResponse((response) => response.url().endsWith('/webauthn/register'))
    await press('Add a passkey')
    assert.equal((await added).status(), 200)
    await press('Sign out')
    await page.getByText('Signed out').waitFor()

    await press('Sign in with a passkey')

    await page.getByText('Signed in as user').waitFor()
    await page.reload()
    await page.getByText('Signed in as user').waitFor()
  })

  test('sign-in.mjs signs users in on the page of Plinth', { skip: noBrowser }, async (t) => {
    const { clientId, clientSecret } = await identity.clients.create({
      name: 'Shop',
      redirectUris: ['http://localhost/callback'],
    })
    const shop = await start(t, 'sign-in.mjs', {
      ISSUER: identityUrl,
      CLIENT_ID: clientId,
      CLIENT_SECRET: clientSecret ?? '',
      PORT: '0',
    })
    const page = await (await openBrowser(t)).newPage()
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
    await page.goto(shop)
    await page.getByText('Signed out').waitFor()
    await page.goto(`${shop}/sign-in`)
    await page.getByLabel('Username').fill('user')
    await page.getByLabel('Password').fill(PASSWORD)
    await press('Sign in')
    await press('Allow')
    await page.waitForURL(`${shop}/`)
    await page.getByText('Signed in as user').waitFor()

    await page.goto(`${shop}/sign-in`)

    await page.getByText('Signed in as user').waitFor()
    const forged = await page.goto(`${shop}/callback?code=stolen&state=other`)
    assert.equal(forged?.status(), 400)
  })

  test('sign-in-page.jsx signs users in on the page of Plinth', { skip: noBrowser }, async (t) => {
    const { clientId } = await identity.clients.create({
      name: 'Shop',
      authMethod: 'none',
      redirectUris: [`${origin}/`],
    })
    await servePage(t, port, {
      file: 'sign-in-page.jsx',
      data: { identity: identityUrl, client: clientId },
    })
    const page = await (await openBrowser(t)).newPage()
    await page.goto(origin)
    const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
    await press('Sign in')
    await page.getByLabel('Username').fill('user')
    await page.getByLabel('Password').fill(PASSWORD)
    await press('Sign in')
    await press('Allow')
    await page.getByText('Signed in as user').waitFor()
    assert.equal(page.url(), `${origin}/`)

    await page.reload()
    await press('Sign in')
    await press('Deny')

    await page.getByRole('alert').getByText('access_denied').waitFor()
    await page.goto(`${origin}/?code=stolen&state=other`)
    await page.getByRole('alert').getByText('This page has not asked for this answer').waitFor()
  })

  test('mcp-server.mjs lets in clients that a document describes', {
    skip: noBrowser,
  }, async (t) => {
    await start(t, 'mcp-server.mjs', { ISSUER: identityUrl, PORT: String(mcpPort) })
    const { clientId, redirectUri } = await serveClient(t)
    const refused = await callTool(mcp, 'nonsense')
    const challenge = refused.headers.get('www-authenticate') ?? ''
    const [, metadata = ''] = /resource_metadata="(.+)"/.exec(challenge) ?? []
    const { resource, authorization_servers: issuers } = (await (await fetch(metadata)).json()) as {
      resource: string
      authorization_servers: string[]
    }
    const flow = await startFlow(issuers[0] ?? '', { clientId, redirectUri, resource })
    const page = await (await openBrowser(t)).newPage()
    await page.goto(flow.url.href)
    await page.getByLabel('Username').fill('user')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    const about = `It describes itself at ${new URL(clientId).host}.`
    await page.getByText(about).waitFor()

    await page.getByRole('button', { name: 'Allow', exact: true }).click()
    await page.waitForURL((url) => url.searchParams.has('code'))
    const token = await flow.finish(new URL(page.url()))
    const called = (await (await callTool(mcp, token)).json()) as Called

    assert.equal(refused.status, 401)
    assert.equal(resource, mcp)
    assert.equal(called.result.content[0]?.text, 'You are user.')
    const elsewhere = { headers: { authorization: `Bearer ${token}` } }
    assert.equal((await fetch(`${identityUrl}/api/users/me`, elsewhere)).status, 401)
    assert.equal((await callTool(mcp, accessToken)).status, 401)
  })
})

type Called = { result: { content: { text: string }[] } }

function callTool(mcp: string, token: string): Promise<Response> {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'who-am-i' } }
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return fetch(mcp, { method: 'POST', headers, body: JSON.stringify(call) })
}

/** A client as a document describes it, and the page that its users come back to. */
async function serveClient(t: TestContext) {
  const server = createServer(({ url }, response) => {
    response.setHeader('content-type', url === '/client.json' ? 'application/json' : 'text/plain')
    response.end(url === '/client.json' ? JSON.stringify(description) : 'Back')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const clientId = `http://127.0.0.1:${port}/client.json`
  const redirectUri = `http://127.0.0.1:${port}/callback`
  const description = { client_id: clientId, client_name: 'Agent', redirect_uris: [redirectUri] }
  return { clientId, redirectUri }
}

type Asked = { clientId: string; redirectUri: string; resource: string }

/** As MCP clients do it: discovery, PKCE, and the resource in both requests. */
async function startFlow(issuer: string, { clientId, redirectUri, resource }: Asked) {
  const plain = { execute: [openid.allowInsecureRequests] }
  const config = await openid.discovery(new URL(issuer), clientId, undefined, openid.None(), plain)
  assert.equal(config.serverMetadata().client_id_metadata_document_supported, true)
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'openid profile',
    resource,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  const finish = async (answer: URL) => {
    const checks = { pkceCodeVerifier }
    const tokens = await openid.authorizationCodeGrant(config, answer, checks, { resource })
    return tokens.access_token
  }
  return { url, finish }
}

type Session = { id: string; success_url: string }

type Application = {
  me: string
  webhooks: string
  send(url: string, init: RequestInit): Promise<Response>
}

async function check({ me, webhooks, send }: Application, token: string): Promise<void> {
  const asUser = await send(me, { headers: { authorization: `Bearer ${token}` } })
  const asNobody = await send(me, { headers: { authorization: 'Bearer nonsense' } })
  assert.deepEqual(await asUser.json(), { hello: 'user' })
  assert.equal(asNobody.status, 401)

  const body = '{"id":"evt_1","type":"payment.paid","subject":"payment-1"}'
  const at = new Date()
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(WEBHOOK_SECRET).sign('msg_1', at, body),
  }
  const deliver = (changed = body) => send(webhooks, { method: 'POST', headers, body: changed })
  const [first, repeated, forged] = [await deliver(), await deliver(), await deliver(`${body} `)]
  assert.deepEqual([first.status, repeated.status, forged.status], [204, 204, 400])
  assert.deepEqual(await forged.json(), { code: 'NO_MATCH' })
}

/** Starts a program of the folder and returns the URL that it prints. */
async function start(
  t: TestContext,
  name: string,
  env: Record<string, string>,
  operands: string[] = [],
): Promise<string> {
  const child: ChildProcess = spawn(process.execPath, [join(FOLDER, name), ...operands], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(async () => {
    child.kill()
    if (child.exitCode === null) await once(child, 'exit')
  })
  if (!child.stdout) throw new Error('The program has no output')
  for await (const line of createInterface(child.stdout)) {
    const url = /^listening at (http.+)$/.exec(line)?.[1]
    if (url) return url.replace('127.0.0.1', 'localhost').replace('[::1]', 'localhost')
  }
  throw new Error(`${name} ended without an address`)
}

/** As a user does with a folder or files from the desktop. */
async function drop(page: Page, selector: string, files: string[]): Promise<void> {
  const box = await page.locator(selector).boundingBox()
  const at = { x: (box?.x ?? 0) + 9, y: (box?.y ?? 0) + 9 }
  const browserItself = await page.context().newCDPSession(page)
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
    await browserItself.send('Input.dispatchDragEvent', {
      ...{ type, ...at, data: { items: [], files, dragOperationsMask: 1 } },
    })
}

async function sizesOf(storage: StorageClient, name: string): Promise<number[]> {
  const files = await storage.files.list()
  return files.filter(({ originalFilename }) => originalFilename === name).map(({ size }) => size)
}

type Quickstart = { file: string; data: Record<string, string> }
const TYPES: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css' }

async function servePage(t: TestContext, port: number, { file, data }: Quickstart): Promise<void> {
  const { outputFiles } = await build({
    entryPoints: { page: join(FOLDER, file) },
    bundle: true,
    write: false,
    outdir: '/',
    format: 'esm',
    jsx: 'automatic',
    logLevel: 'warning',
  })
  const bundled = new Map(outputFiles.map(({ path, text }) => [path, text]))
  const attributes = Object.entries(data).map(([name, value]) => `data-${name}="${value}"`)
  const styles = bundled.has('/page.css') ? '<link rel="stylesheet" href="/page.css">' : ''
  const page = `<!doctype html><html ${attributes.join(' ')}><title>Quickstart</title>${styles}
<div id="app"></div><script type="module" src="/page.js"></script></html>`
  const server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', TYPES[extname(url)] ?? 'text/html')
    response.end(bundled.get(url) ?? page)
  })
  await once(server.listen(port, 'localhost'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
}
