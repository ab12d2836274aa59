import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import dns from 'node:dns'
import { openAsBlob, readFileSync } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import tls from 'node:tls'
import { identityClient, storageClient } from '@plinth/client'
import type { Browser } from 'playwright-core'
import { freePorts } from '../test/servers/free-ports.ts'
import { proxyMissing } from '../test/servers/proxy.ts'
import { nginxConfiguration, startWebServer } from '../test/servers/web-server.ts'
import { suiteCleanup } from '../test/suite-cleanup.ts'
import { browserSkip, openBrowser } from './browser.ts'
import { addVirtualAuthenticator } from './consoles/virtual-authenticator.ts'
import { consoleOf, goTo, openConsole, signIn } from './consoles/watched-page.ts'
import { startSuite } from './stack.ts'

const DEPLOY = join(import.meta.dirname, '../deploy')
const PASSWORD = 'password123123'
const LARGE_BYTES = 200 * 2 ** 20
const PORTS = { 8080: 'landing', 8081: 'identity', 8082: 'storage-full', 8084: 'payments' }
const missing = { nginx: await proxyMissing('nginx'), caddy: await proxyMissing('caddy') }
const noBrowser = await browserSkip()

type Suite = Awaited<ReturnType<typeof startSuite>>
type Tls = { certificate: string; key: string }

// Browsers resolve names below localhost to this machine; not every resolver does.
const { lookup } = dns
dns.lookup = ((name: string, ...rest: [never, never]) =>
  lookup(name.endsWith('.localhost') ? 'localhost' : name, ...rest)) as typeof lookup

const MODES = {
  'below one address': (host: string) => ({
    settings: { SUITE_PUBLIC_URL: host },
    identity: `${host}/identity`,
    storage: `${host}/storage`,
  }),
  'by host name': (host: string) => {
    const named = (name: string) => host.replace('//', `//${name}.`)
    return {
      settings: {
        IDENTITY_PUBLIC_URL: named('identity'),
        STORAGE_FULL_PUBLIC_URL: named('files'),
        PAYMENTS_PUBLIC_URL: named('payments'),
      },
      identity: named('identity'),
      storage: named('files'),
    }
  },
}

for (const [mode, addressesAt] of Object.entries(MODES))
  describe(`the suite ${mode}, as in deploy/`, () => {
    const shared = suiteCleanup()
    let folder: string
    let files: Tls
    let suite: Suite
    let browser: Browser
    let port = 0
    const at = () => addressesAt(`https://localhost:${port}`)

    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'plinth-tls-'))
      files = selfSigned(folder)
      ;[port = 0] = await freePorts(1)
      suite = await startSuite(shared, {
        SUITE_TRUSTED_PROXIES: 'loopback',
        STORAGE_FULL_MAX_FILE_SIZE: '250MB',
        ...at().settings,
      })
      const trusted = `--ignore-certificate-errors-spki-list=${pinOf(files.certificate)}`
      if (!noBrowser) browser = await openBrowser(shared, [trusted])
    })
    after(() => rm(folder, { recursive: true, force: true }))

    for (const program of ['nginx', 'caddy'] as const)
      describe(program, { skip: missing[program] }, () => {
        const proxy = suiteCleanup()

        before(async () => {
          const ports = Object.entries(PORTS).map(([shown, name]): [string, string] => [
            shown,
            new URL(name === 'landing' ? suite.landingUrl : suite.directUrlOf(name)).port,
          ])
          const render = program === 'nginx' ? renderNginx : renderCaddy
          const address = `https://localhost:${port}`
          proxy.after(
            await startWebServer(program, address, (scratch) =>
              render(withPorts(program, ports), { scratch, port, ...files }),
            ),
          )
        })

        test('login, and endpoints for operators stay inside', async () => {
          const identity = identityClient(at().identity)
          await identity.logIn('user', PASSWORD)
          const statusOf = async (path: string) => (await fetch(`${at().identity}${path}`)).status

          assert.equal((await identity.account.get()).username, 'user')
          assert.equal(await statusOf('/actuator/health'), 200)
          assert.equal(await statusOf('/actuator/info'), 404)
        })

        test('an upload of 200 MB, and a range request for its end', async () => {
          const storage = storageClient(at().storage, { timeoutMs: 120_000 })
          await storage.logIn('user', PASSWORD)
          const file = await openAsBlob(await largeFile(folder), { type: 'application/pdf' })

          const { id, size } = await storage.files.upload(file, 'large.pdf')
          const { url } = await storage.links.create(id, 60)
          const part = await fetch(url, { headers: { range: 'bytes=209715190-' } })

          assert.equal(size, LARGE_BYTES)
          assert.equal(part.status, 206)
          assert.equal(
            part.headers.get('content-range'),
            `bytes 209715190-209715199/${LARGE_BYTES}`,
          )
          assert.equal(await part.text(), '0123456789')
        })

        test('a passkey at the console, and a login with it', { skip: noBrowser }, async (t) => {
          const page = await openConsole(t, browser, consoleOf(at().identity))
          await addVirtualAuthenticator(page)
          await signIn(page, 'user')
          await goTo(page, 'passkeys')

          await page.getByRole('button', { name: 'Add a passkey' }).click()

          await page.getByText('can now sign you in').waitFor()
          await page.locator('.session-bar').getByRole('button', { name: 'Log out' }).click()
          await page.getByRole('button', { name: 'Use a passkey' }).click()
          await page.getByText('signed in as user', { exact: true }).waitFor()
        })
      })
  })

/** Creates a certificate for every name used here and makes this process trust it. */
function selfSigned(folder: string): Tls {
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  const names =
    'subjectAltName=DNS:localhost,DNS:*.localhost,DNS:identity.localhost,DNS:files.localhost'
  const kind = [
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
  ]
  const out = ['-keyout', key, '-out', certificate, '-subj', '/CN=localhost', '-addext', names]
  execFileSync('openssl', ['req', ...kind, ...out], { stdio: 'ignore' })
  const known = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...known, readFileSync(certificate, 'utf8')])
  return { certificate, key }
}

/** The form in which Chromium's flag names a public key to accept. */
function pinOf(certificate: string): string {
  const { publicKey } = new X509Certificate(readFileSync(certificate))
  const der = publicKey.export({ type: 'spki', format: 'der' })
  return createHash('sha256').update(der).digest('base64')
}

async function largeFile(folder: string): Promise<string> {
  const path = join(folder, 'large.pdf')
  const file = await open(path, 'w')
  await file.write('%PDF-1.4\n', 0)
  await file.write('0123456789', LARGE_BYTES - 10)
  await file.close()
  return path
}

/** The example configuration with the ports of this run. */
function withPorts(program: 'nginx' | 'caddy', ports: [shown: string, real: string][]): string {
  const text = readFileSync(join(DEPLOY, program === 'nginx' ? 'nginx.conf' : 'Caddyfile'), 'utf8')
  return ports.reduce(
    (rendered, [shown, real]) => rendered.replaceAll(`:${shown}`, `:${real}`),
    text,
  )
}

type Place = Tls & { scratch: string; port: number }

function renderNginx(text: string, { scratch, port, certificate, key }: Place): string {
  return nginxConfiguration(
    scratch,
    text
      .replaceAll('app.example', 'localhost')
      .replaceAll('listen 443 ssl', `listen localhost:${port} ssl`)
      .replace(/(ssl_certificate ).*/, `$1${certificate};`)
      .replace(/(ssl_certificate_key ).*/, `$1${key};`),
  )
}

function renderCaddy(text: string, { port, certificate, key }: Place): string {
  const options = '{\n\tadmin off\n\tauto_https off\n\tskip_install_trust\n}\n'
  return (
    options +
    text.replaceAll(
      /^((?:\w+\.)?)app\.example \{/gm,
      `https://$1localhost:${port} {\n\tbind 127.0.0.1\n\ttls ${certificate} ${key}`,
    )
  )
}
