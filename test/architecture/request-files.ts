import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { cheapHashing } from '@plinth/accounts/testing'
import { createIdentity, loadConfig as identityConfig } from '@plinth/identity'
import { type Server, signPayload } from '@plinth/kit'
import { type Api, listenForTest, sampleFiles, spawnService } from '@plinth/kit/testing'
import { createPayments, loadConfig as paymentsConfig } from '@plinth/payments'
import { createStorageFull, loadConfig as storageConfig } from '@plinth/storage-full'

export type RequestFiles = { request: string; own: string[]; kit: string[] }
type Measured = <T>(
  request: string,
  work: (given: T) => Promise<unknown>,
  before?: () => Promise<T>,
) => Promise<RequestFiles>
type Scope = { after(work: () => Promise<void> | void): void }

const ROOT = pathToFileURL(join(import.meta.dirname, '../..')).href
const SANDBOX = join(import.meta.dirname, '../../services/provider-sandbox/src/main.ts')
const PASSWORD = 'password123123'
const WEBHOOK_SECRET = 'whsec_of_the_measurement'
const KEY = randomBytes(32).toString('base64')

/**
 * The files whose code runs while a request is answered, according to V8 coverage. `kit` are the
 * files of the kit, which all requests share; `own` are all others.
 */
export async function requestFiles(): Promise<RequestFiles[]> {
  const folder = await mkdtemp(join(tmpdir(), 'plinth-house-'))
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    const measured = measurer(session)
    const found: RequestFiles[] = []
    for (const requests of [identityRequests, storageRequests, paymentRequests])
      found.push(...(await alone((scope) => requests(scope, folder, measured))))
    return found
  } finally {
    session.disconnect()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Stops the services of one group before the next starts, because their timers would be counted there. */
async function alone<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
  const cleanups: (() => Promise<void> | void)[] = []
  try {
    return await work({ after: (cleanup) => void cleanups.unshift(cleanup) })
  } finally {
    for (const cleanup of cleanups) await cleanup()
  }
}

/** The first run loads everything that is loaded on first use; the second run is counted. */
function measurer(session: Session): Measured {
  return async (request, work, before) => {
    await work((await before?.()) as never)
    const given = (await before?.()) as never
    await session.post('Profiler.takePreciseCoverage')
    await work(given)
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const files = result
      .filter(({ url }) => url.startsWith(ROOT) && /\/src\//.test(url))
      .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
      .map(({ url }) => url.slice(ROOT.length + 1))
      .sort()
    const isKit = (file: string) => file.startsWith('packages/kit/')
    return { request, own: files.filter((file) => !isKit(file)), kit: files.filter(isKit) }
  }
}

async function started(scope: Scope, server: Promise<Server>): Promise<Api> {
  return (await listenForTest(scope, await server)).api
}

/** Disables the delivery of events, which happens in the background and is not part of a request. */
function silent<C extends { events: { delivers: boolean } }>(config: C): C {
  return { ...config, events: { ...config.events, delivers: false } }
}

async function identityRequests(scope: Scope, folder: string, measured: Measured) {
  const config = identityConfig({
    SUITE_DATA: folder,
    LOG_LEVEL: 'silent',
    IDENTITY_MASTER_KEY: KEY,
    ...cheapHashing('IDENTITY_'),
  })
  const api = await started(scope, createIdentity(silent(config)))
  const login = async () =>
    ok(await api.post('/api/auth/login', { username: 'admin', password: PASSWORD }))
  return [await measured('login', login)]
}

async function storageRequests(scope: Scope, folder: string, measured: Measured) {
  const config = storageConfig({
    SUITE_DATA: folder,
    LOG_LEVEL: 'silent',
    STORAGE_FULL_MASTER_KEY: KEY,
    ...cheapHashing('STORAGE_FULL_'),
  })
  const api = await started(scope, createStorageFull(config))
  const pair = ok(await api.post('/api/auth/login', { username: 'user', password: PASSWORD }))
  const headers = { authorization: `Bearer ${pair.accessToken}` }
  const upload = async () => {
    const body = new FormData()
    body.append(
      'file',
      new Blob([new Uint8Array(sampleFiles.png)], { type: 'image/png' }),
      'picture.png',
    )
    return ok(await api.request('POST', '/file', { body, headers }))
  }
  const read = async (path: string, id: number) =>
    ok(await api.request('GET', `${path}/${id}`, { headers }))
  const { id } = await upload()
  return [
    await measured('upload', upload),
    await measured('download', () => read('/file/download', id)),
    await measured('thumbnail', ({ id }) => read('/file/thumbnail', id), upload),
  ]
}

async function paymentRequests(scope: Scope, folder: string, measured: Measured) {
  // In a separate process, so that its files are not counted.
  const sandbox = await spawnService(scope, SANDBOX, {
    SANDBOX_PORT: '0',
    SANDBOX_DATABASE_URL: 'sqlite::memory:',
  })
  const config = paymentsConfig({
    SUITE_DATA: folder,
    LOG_LEVEL: 'silent',
    PROVIDER_SECRET_KEY: 'sk_test_sandbox',
    PROVIDER_API_BASE: sandbox.baseUrl,
    PROVIDER_WEBHOOK_SECRET: WEBHOOK_SECRET,
    // A round of reconciling during a measurement would be counted as part of the request.
    PAYMENTS_LOOK_EVERY_SECONDS: '3600',
    PAYMENTS_POLL_EVERY_SECONDS: '3600',
  })
  const api = await started(scope, createPayments(silent(config)))
  const checkOut = checkouts(api)
  const pay = async () => {
    const payment = await checkOut()
    ok(await sandbox.api.post(`/sandbox/api/sessions/${payment.checkoutSessionId}/pay`, {}))
    const events = ok(await sandbox.api.get('/sandbox/api/events'))
    return { ...payment, event: JSON.stringify(events[0]) }
  }
  const deliver = async ({ event }: { event: string }) => ok(await post(api, event))
  const checkout = await measured('checkout', checkOut)
  const webhook = await measured('webhook', deliver, pay)
  const payment = await pay()
  await deliver(payment)
  const refund = refunds(api, payment.paymentId)
  return [checkout, webhook, await measured('refund', refund)]
}

function checkouts(api: Api) {
  let count = 0
  return async () => {
    count += 1
    const order = { amount: 1000, currency: 'eur', description: 'A chair', attemptReference: '1' }
    const request = { ...order, businessReference: `order-${count}` }
    return ok(await api.post('/api/checkout/sessions', request))
  }
}

function refunds(api: Api, paymentId: string) {
  let count = 0
  return async () => {
    count += 1
    const request = { amount: 10, reference: `refund-${count}` }
    return ok(await api.post(`/api/payments/${paymentId}/refund`, request))
  }
}

function post(api: Api, body: string) {
  return api.request('POST', '/api/provider/webhook', {
    body,
    headers: {
      'content-type': 'application/json',
      'provider-signature': signPayload(body, [WEBHOOK_SECRET], new Date()),
    },
  })
}

// biome-ignore lint/suspicious/noExplicitAny: a reply of any endpoint
function ok({ status, body }: { status: number; body: any }): any {
  assert.ok(status < 300, `${status}: ${JSON.stringify(body)}`)
  return body
}
