import { execFile } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { paymentsClient } from '@plinth/client'
import type { ServiceEntry } from '../launcher/services.ts'
import { type Stack, startStack } from '../launcher/stack/stack.ts'
import { checkedServices } from '../launcher/test/checked-services.ts'
import { newDataFolder } from '../launcher/test/test-env.ts'
import { freePortSettings } from '../test/servers/free-ports.ts'
import { until } from '../test/until.ts'

const ROOT = join(import.meta.dirname, '..')
const CONSOLES = join(ROOT, 'packages/console')

type Choice = { env: Record<string, string>; only: ServiceEntry[] }

type Cleanup = { after(cleanup: () => Promise<void>): void }

/** A sign-in takes tens of milliseconds of a core otherwise; the samples alone sign in hundreds of times. */
const CHEAP_PASSWORDS = Object.fromEntries(
  ['IDENTITY', 'STORAGE_FULL'].flatMap((name) => [
    [`${name}_PASSWORD_MEMORY_KIB`, '8'],
    [`${name}_PASSWORD_PASSES`, '1'],
  ]),
)

/** Starts the whole suite, or some of its services, as `npm start` does, on free ports and an empty data folder. */
export async function startSuite(
  t: Cleanup,
  settings: Record<string, string> = {},
  names?: string[],
) {
  await bundleConsoles()
  const folder = await mkdtemp(join(tmpdir(), 'plinth-e2e-'))
  const env = {
    SUITE_DATA: folder,
    SUITE_DRAIN_SECONDS: '0',
    LOG_LEVEL: 'silent',
    // Refused in production.
    ...(settings.NODE_ENV !== 'production' && CHEAP_PASSWORDS),
    ...settings,
  }
  newDataFolder(folder)
  const only = checkedServices(t).filter(({ name }) => !names || names.includes(name))
  const stack = await startOnFreePorts({ env, only })
  t.after(async () => {
    await stack.close()
    await rm(folder, { recursive: true, force: true })
  })
  const running = (name: string) => {
    const service = stack.services.find(({ entry }) => entry.name === name)
    if (!service) throw new Error(`The suite does not run ${name}.`)
    return service
  }
  return {
    /** The data folder. */
    folder,
    landingUrl: stack.landingUrl,
    urlOf: (service: string) => running(service).publicUrl,
    /** Bypasses any proxy. */
    directUrlOf: (service: string) => running(service).url,
  }
}

/** The bundles are built at install; rebuild them when a source is newer than one of them. */
async function bundleConsoles(): Promise<void> {
  const timesOf = (folder: string) =>
    (readdirSync(folder, { recursive: true }) as string[])
      .filter((name) => !/(^|\/)(dist|node_modules)(\/|$)/.test(name))
      .map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0)
  const bundles = join(CONSOLES, 'dist')
  const isFresh =
    existsSync(bundles) && Math.max(...timesOf(CONSOLES)) < Math.min(...timesOf(bundles))
  if (!isFresh)
    await promisify(execFile)(process.execPath, ['packages/console/build.ts'], { cwd: ROOT })
}

/** Tries again if another process has taken a port since it was found free. */
async function startOnFreePorts(choice: Choice, tries = 3): Promise<Stack> {
  try {
    const env = { ...(await freePortSettings()), ...choice.env }
    return await startStack({ ...choice, env })
  } catch (error) {
    if (tries === 1 || !/ is in use\./.test(String(error))) throw error
    return startOnFreePorts(choice, tries - 1)
  }
}

/** Takes a payment, from the checkout to the webhook that reports it paid. */
export async function takePayment(urlOf: (service: string) => string): Promise<void> {
  const payments = paymentsClient(urlOf('payments'))
  const { checkoutSessionId, paymentId } = await payments.checkouts.create({
    amount: 1000,
    currency: 'EUR',
    description: 'One chair',
    businessReference: 'order-1',
    attemptReference: 'attempt-1',
  })
  const sandbox = `${urlOf('provider-sandbox')}/sandbox/api`
  await fetch(`${sandbox}/sessions/${checkoutSessionId}/pay`, { method: 'POST' })
  await until(
    () => payments.payments.get(paymentId),
    ({ status }) => status === 'PAID',
  )
}
