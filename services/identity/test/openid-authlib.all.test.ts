import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { cheapHashing } from '@plinth/accounts/testing'
import { spawnService } from '@plinth/kit/testing'
import { exportJWK, exportPKCS8, generateKeyPair } from 'jose'
import { unpackDebian } from '../../../test/servers/debian.ts'
import { freePorts } from '../../../test/servers/free-ports.ts'
import { CALLBACK, openBrowser, registerClient, signIn } from './browser.ts'
import { ALICE, engines, MASTER_KEY } from './start-identity.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const SCRIPT = join(import.meta.dirname, 'authlib-client.py')
const PYTHON = '/usr/bin/python3' // Debian's own: the packages are built for it
const AUTHLIB_RELEASE = 'trixie'
const PATIENCE_MS = 60_000

/** The folders with Authlib and its HTTP client, or why they cannot be had. */
async function findAuthlib(): Promise<{ folders: string[] } | { missing: string }> {
  if (!existsSync(PYTHON)) return { missing: `Authlib needs ${PYTHON} (Debian)` }
  try {
    const authlib = await unpackDebian('python3-authlib', { release: AUTHLIB_RELEASE })
    const requests = await unpackDebian('python3-requests')
    const folderOf = ({ root }: { root: string }) => join(root, 'usr/lib/python3/dist-packages')
    return { folders: [authlib, requests].map(folderOf) }
  } catch (error) {
    return { missing: `no Authlib: ${(error as Error).message}` }
  }
}

const found = await findAuthlib()

/** A running service at the address that it publishes, with alice. */
async function start(t: TestContext) {
  const [port] = await freePorts(1)
  const issuer = `http://localhost:${port}`
  const { api } = await spawnService(t, MAIN, {
    SUITE_DATA: tmpdir(),
    IDENTITY_PORT: `${port}`,
    IDENTITY_PUBLIC_URL: issuer,
    IDENTITY_MASTER_KEY: MASTER_KEY,
    IDENTITY_DATABASE_URL: (await engines[0]?.freshUrl(t)) ?? '',
    ...cheapHashing('IDENTITY_'),
  })
  const { body: user } = await api.post('/api/auth/register', ALICE)
  return { api, issuer, userId: user.id as number }
}

type Started = Awaited<ReturnType<typeof start>>

/** Runs the application; the user signs in and allows what it asks for. */
async function runApplication({ api, issuer }: Started, settings: object) {
  const folders = 'folders' in found ? found.folders : []
  const child = spawn(PYTHON, [SCRIPT], {
    env: {
      PATH: process.env.PATH,
      PYTHONPATH: folders.join(':'),
      AUTHLIB_INSECURE_TRANSPORT: 'on',
    },
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: PATIENCE_MS,
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => String((await lines.next()).value ?? '')
  child.stdin.write(`${JSON.stringify({ issuer, redirectUri: CALLBACK, ...settings })}\n`)
  const url = await nextLine()
  const browser = openBrowser(api)
  const reply = await browser.open(url.slice(issuer.length))
  const location = new URL(reply.headers.get('location') ?? 'none:')
  const id = location.searchParams.get('authorization') ?? ''
  await signIn(api, browser, id)
  const { body } = await browser.decide(id, { action: 'allow' })
  child.stdin.end(`${body.redirectTo}\n`)
  return JSON.parse((await nextLine()) || 'null')
}

describe('Authlib, a client in Python', { skip: 'missing' in found && found.missing }, () => {
  test('Authlib signs in with a secret, reads userinfo, refreshes and revokes', async (t) => {
    const started = await start(t)
    const client = await registerClient(started.api)

    const result = await runApplication(started, client)

    const sub = String(started.userId)
    const known = { sub, preferred_username: ALICE.username, email: ALICE.email }
    assert.deepEqual(result.claims, known)
    assert.deepEqual(result.info, { ...known, name: ALICE.username, email_verified: false })
    assert.equal(result.rotated, true)
    assert.equal(result.afterRevocation[0], 'invalid_grant')
  })

  test('Authlib authenticates with a key, for the issuer', async (t) => {
    const started = await start(t)
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'RS256', use: 'sig' }] }
    const { clientId } = await registerClient(started.api, { authMethod: 'private_key_jwt', jwks })

    const result = await runApplication(started, {
      clientId,
      privateKey: await exportPKCS8(privateKey),
    })

    assert.equal(result.claims.preferred_username, ALICE.username)
    const audience = `The audience of an assertion must be the issuer alone: ${started.issuer}`
    assert.deepEqual(result.forTokenEndpoint, ['invalid_client', audience])
    const lifetime = 'An assertion may be valid for 300 seconds at most.'
    assert.deepEqual(result.forAnHour, ['invalid_client', lifetime])
  })
})
