import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { preloads } from '@plinth/kit/testing'
import { plinthHere } from '../../../cli/test/run-plinth.ts'
import { openBrowser, registerClient, signIn } from './browser.ts'
import { ADMIN, startIdentity } from './start-identity.ts'

const MAIN = join(import.meta.dirname, '../../../cli/main.js')
/** The command waits five seconds before it asks for the first time. */
const SLOW = { tags: ['all'] }

/** A service at its public address: discovery names that one. */
async function start(t: TestContext, env: Record<string, string> = {}) {
  const target = { url: '' }
  const proxy = createServer((request, response) => {
    const { method, headers, url } = request
    const forwarded = httpRequest(`${target.url}${url}`, { method, headers }, (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
    })
    request.pipe(forwarded)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const started = await startIdentity(t, { env: { IDENTITY_PUBLIC_URL: url, ...env } })
  target.url = started.baseUrl
  return { ...started, url }
}

/** Runs the command, at a terminal of its own, until it shows a code. */
async function startLogin(t: TestContext, words: string[]) {
  const child = spawn(process.execPath, [...preloads(), MAIN, 'login', ...words], {
    cwd: tmpdir(),
    env: { PATH: process.env.PATH },
    timeout: 120_000,
  })
  t.after(() => child.kill())
  const stdout = text(child.stdout)
  const lines: string[] = []
  const ended = once(child, 'close').then(async ([code]) => ({
    exit: code as number,
    stdout: await stdout,
    stderr: lines.join('\n'),
  }))
  const { promise, resolve } = Promise.withResolvers<string>()
  createInterface(child.stderr).on('line', (line) => {
    lines.push(line)
    const [, code] = /\btype ([A-Z]{4}-[A-Z]{4})$/.exec(line) ?? []
    if (code) resolve(code)
  })
  return { code: await promise, ended, lines }
}

type Api = Awaited<ReturnType<typeof startIdentity>>['api']

/** What the user does in a browser. */
async function decide(api: Api, userCode: string, action: 'allow' | 'deny') {
  const browser = openBrowser(api)
  const opened = await api.post('/api/authorizations', { userCode })
  browser.setCookie(opened.headers.get('set-cookie')?.split(';')[0])
  await signIn(api, browser, opened.body.id, { as: ADMIN })
  await browser.decide(opened.body.id, { action })
  return opened.body
}

describe('plinth login', () => {
  test('prints a token once its user has typed the code and allowed it', SLOW, async (t) => {
    const { api, url } = await start(t)
    const plain = await startLogin(t, [url])
    const detailed = await startLogin(t, [url, '--json', '--scope', 'openid offline_access'])

    const shown = await decide(api, plain.code, 'allow')
    await decide(api, detailed.code, 'allow')
    const [{ exit, stdout }, { stdout: json }] = await Promise.all([plain.ended, detailed.ended])

    const me = await api.get('/api/users/me', { token: stdout.trim() })
    assert.equal(exit, 0)
    assert.match(plain.lines[0] ?? '', /^Open http\S+\/account\/device and type /)
    assert.equal(shown.client.name, 'Plinth command line')
    assert.equal(shown.device.userAgent, 'plinth')
    assert.equal(me.body.username, 'admin')
    const { accessToken, refreshToken, scope, expiresIn } = JSON.parse(json)
    assert.deepEqual([scope, expiresIn], ['openid offline_access', 900])
    assert.equal((await api.get('/api/users/me', { token: accessToken })).status, 200)
    assert.equal(typeof refreshToken, 'string')
  })

  test('ends with an error when its user refuses', SLOW, async (t) => {
    const { api, url } = await start(t)
    const { code, ended } = await startLogin(t, [url])

    await decide(api, code, 'deny')

    const { exit, stdout, stderr } = await ended
    assert.deepEqual([exit, stdout], [1, ''])
    assert.match(stderr, /You have refused\./)
  })

  test('says why there is no token', async (t) => {
    const on = await start(t)
    const off = await start(t, { IDENTITY_COMMAND_LOGIN: 'off' })
    const { clientId } = await registerClient(on.api, { authMethod: 'none' })
    const run = (...words: string[]) => plinthHere(['login', ...words])

    const plain = await run('http://id.example')
    const silent = await run('http://127.0.0.1:1')
    const unknown = await run(on.url, '--client-id', 'other')
    const other = await run(on.url, '--client-id', clientId)
    const scopeless = await run(on.url, '--scope', 'users:read')
    const disallowed = await run(off.url)

    assert.equal(plain.code, 64)
    assert.equal(silent.code, 69)
    assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
    assert.match(other.stderr, /may not use this grant type/)
    assert.match(scopeless.stderr, /No scope is left/)
    assert.equal(disallowed.code, 1)
    assert.match(disallowed.stderr, /IDENTITY_COMMAND_LOGIN=on/)
  })

  test('the client of the command has no address, so that nothing can be sent to one', async (t) => {
    const { api } = await start(t)
    const query = new URLSearchParams({
      client_id: 'plinth-cli',
      redirect_uri: 'http://127.0.0.1/cb',
      response_type: 'code',
      scope: 'openid',
    })

    const { status, headers } = await api.get(`/oauth2/authorize?${query}`)

    assert.deepEqual([status, headers.get('location')], [400, null])
  })
})
