/**
 * `npm run test:image` builds the image, runs it as compose.yaml does and checks health, HEALTHCHECK, login,
 * upload, checkout, data after a restart, drain on SIGTERM, read-only root and non-root user. Skipped if neither
 * docker nor podman works. CONTAINER_COMMAND (`podman --runtime runc`), CONTAINER_BUILD_OPTIONS and
 * CONTAINER_RUN_OPTIONS adapt it to a machine. The latter must not contain `--network`, which is set here, and do not
 * apply to Compose.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { identityClient, paymentsClient, storageClient } from '../packages/client/src/index.ts'
import { sampleFiles } from '../packages/kit/testing/index.ts'
import { freePortSettings } from '../test/servers/free-ports.ts'
import { until } from '../test/until.ts'
import { tryCompose } from './compose.ts'
import { packPlinth } from './pack.ts'

const ROOT = join(import.meta.dirname, '..')
const IMAGE = 'plinth-test'
const NAME = `plinth-test-${process.pid}`
const MAX_OWN_MB = 60
const MAX_MB = 350
const PASSWORD = 'a password for the image test'
const run = promisify(execFile)
const words = (text = '') => text.split(' ').filter((word) => word !== '')
const { CONTAINER_COMMAND, CONTAINER_BUILD_OPTIONS, CONTAINER_RUN_OPTIONS } = process.env

const engine = await usableEngine()
if (engine === undefined) {
  console.log('Skipped: neither docker nor podman works here.')
  process.exit(process.env.TEST_STRICT === 'on' ? 1 : 0)
}
const [program = '', ...global] = engine
const isPodman = program.endsWith('podman')
const container = async (...args: string[]) =>
  (await run(program, [...global, ...args], { cwd: ROOT, timeout: 900_000, maxBuffer: 2 ** 26 }))
    .stdout

const ports = await freePortSettings()
const settings = {
  ...ports,
  // Loopback only: the test must not be reachable from the network.
  SUITE_HOST: '127.0.0.1',
  SUITE_DRAIN_SECONDS: '3',
  IDENTITY_MASTER_KEY: Buffer.from('an image test has a key of 32 by').toString('base64'),
  STORAGE_FULL_MASTER_KEY: Buffer.from('an image test has a key of 32 by').toString('base64'),
  PAYMENTS_MASTER_KEY: Buffer.from('an image test has a key of 32 by').toString('base64'),
  STORAGE_KEY_API_KEY: 'a key for the image test only',
  IDENTITY_ADMIN_USERNAME: 'root',
  IDENTITY_ADMIN_EMAIL: 'root@example.com',
  IDENTITY_ADMIN_PASSWORD: PASSWORD,
  STORAGE_FULL_ADMIN_USERNAME: 'root',
  STORAGE_FULL_ADMIN_EMAIL: 'root@example.com',
  STORAGE_FULL_ADMIN_PASSWORD: PASSWORD,
  PAYMENTS_ACCESS: 'open',
  SUITE_SANDBOX: 'on',
}
const at = (setting: string) => `http://127.0.0.1:${ports[setting]}`

try {
  await build()
  await start()
  await step('every service is healthy, according to the command in the image', healthy)
  await step('HEALTHCHECK reports healthy', checkHealth)
  await step('the first administrator signs in', signIn)
  await step('a file is stored, and its thumbnail rendered', upload)
  await step('a checkout is opened', checkOut)
  await step('the root is read-only, and the user is not root', hardened)
  await step('SIGTERM drains: readiness is 503 while requests are served, then it exits 0', drain)
  await container('start', NAME)
  await step('a restart keeps the data', kept)
  await step('compose.yaml: every profile is valid, and the default one runs', () =>
    tryCompose(engine, IMAGE),
  )
} finally {
  await container('rm', '--force', '--volumes', NAME).catch(() => {})
}

async function usableEngine(): Promise<string[] | undefined> {
  const named = words(CONTAINER_COMMAND)
  for (const candidate of named.length > 0 ? [named] : [['docker'], ['podman']]) {
    const [name = '', ...rest] = candidate
    const info = run(name, [...rest, 'info'], { timeout: 30_000 })
    if (await info.then(() => true).catch(() => false)) return candidate
  }
  return undefined
}

async function step(name: string, work: () => Promise<void>): Promise<void> {
  await work()
  console.log(`✔ ${name}`)
}

async function build(): Promise<void> {
  await packPlinth(join(ROOT, 'dist'))
  // Podman's default image format has no HEALTHCHECK.
  const format = isPodman ? ['--format', 'docker'] : []
  await container('build', ...format, ...words(CONTAINER_BUILD_OPTIONS), '-t', IMAGE, '.')
  const sizeOf = async (image: string) =>
    Number(await container('image', 'inspect', '--format', '{{.Size}}', image)) / 1e6
  const [whole, base] = [await sizeOf(IMAGE), await sizeOf('node:26-bookworm-slim')]
  const counted = ['--network', 'none', ...words(CONTAINER_RUN_OPTIONS), IMAGE, 'du', '-sb', '/app']
  const own = Number.parseInt(await container('run', '--rm', ...counted), 10) / 1e6
  const [all, ours, node] = [whole, own, base].map((size) => size.toFixed(0))
  console.log(`✔ built: ${all} MB, of which ${ours} MB are ours; the Node image has ${node} MB`)
  assert.ok(own <= MAX_OWN_MB, `/app is larger than ${MAX_OWN_MB} MB`)
  assert.ok(whole <= MAX_MB, `the image is larger than ${MAX_MB} MB`)
}

async function start(): Promise<void> {
  const env = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`])
  const hardening = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL']
  const options = ['--detach', '--init', '--network', 'host', '--name', NAME]
  // Podman's health timer needs systemd, so the test runs the check itself.
  const unwatched = isPodman ? ['--health-interval', 'disable'] : []
  const restricted = ['--security-opt', 'no-new-privileges', ...unwatched]
  const more = [...restricted, ...words(CONTAINER_RUN_OPTIONS)]
  await container('run', ...options, ...hardening, ...more, ...env, IMAGE)
}

async function healthy(): Promise<void> {
  await container('exec', NAME, 'plinth', 'health', '--wait', '60')
}

/** Podman runs the check on demand; Docker only every 30 seconds, so there the test runs the command itself. */
async function checkHealth(): Promise<void> {
  const field = isPodman ? '.HealthCheck.Test' : '.Config.Healthcheck.Test'
  const declared = await container('image', 'inspect', '--format', `{{json ${field}}}`, IMAGE)
  const [kind, ...command] = JSON.parse(declared)
  assert.deepEqual([kind, command], ['CMD', ['plinth', 'health']])
  if (isPodman) await container('healthcheck', 'run', NAME)
  else await container('exec', NAME, ...command)
}

async function signIn(): Promise<void> {
  const identity = identityClient(at('IDENTITY_PORT'))
  await identity.logIn('root', PASSWORD)
  assert.equal((await identity.account.get()).username, 'root')
}

async function storage() {
  const client = storageClient(at('STORAGE_FULL_PORT'))
  await client.logIn('root', PASSWORD)
  return client
}

async function upload(): Promise<void> {
  const client = await storage()
  const paper = new Blob([new Uint8Array(sampleFiles.pdf)], { type: 'application/pdf' })
  const { id } = await client.files.upload(paper, 'paper.pdf')
  assert.equal(id, 1)
  assert.equal((await client.files.thumbnail(id)).headers.get('content-type'), 'image/jpeg')
}

async function checkOut(): Promise<void> {
  const checkout = await paymentsClient(at('PAYMENTS_PORT')).checkouts.create({
    amount: 2500,
    currency: 'EUR',
    description: 'A book',
    businessReference: 'order-1',
    attemptReference: 'first',
  })
  assert.equal((await fetch(checkout.checkoutUrl)).status, 200)
}

async function hardened(): Promise<void> {
  const inside = 'console.log(process.getuid()); require("fs").writeFileSync("/app/x", "")'
  const failure = await container('exec', NAME, 'node', '-e', inside).catch((error) => error)
  assert.match(failure.stdout, /^1000\n/)
  assert.match(failure.stderr, /EROFS/)
}

async function drain(): Promise<void> {
  await container('kill', '--signal', 'TERM', NAME)
  await pause(1000)
  const readiness = await fetch(`${at('IDENTITY_PORT')}/actuator/health/readiness`)
  const jwks = await fetch(`${at('IDENTITY_PORT')}/.well-known/jwks.json`)
  assert.deepEqual([readiness.status, jwks.status], [503, 200])
  const state = ['inspect', '--format', '{{.State.Status}} {{.State.ExitCode}}', NAME]
  await until(
    async () => (await container(...state)).trim(),
    (text) => text === 'exited 0',
  )
}

async function kept(): Promise<void> {
  await healthy()
  await signIn()
  assert.equal((await (await storage()).files.get(1)).originalFilename, 'paper.pdf')
}
