/** What the services of these settings keep, for a backup, a restore and a move. */
import type { Scratch, ServiceData } from '@plinth/backup'
import { type Env, hostUrl, StartError } from '@plinth/kit'
import { type ServiceEntry, services } from '../services.ts'
import { type Prepared, prepareStack } from '../stack/prepare.ts'
import { startStack } from '../stack/stack.ts'

export async function suiteData(env: Env, only?: ServiceEntry[]): Promise<ServiceData[]> {
  const { prepared } = await prepareStack(env, only)
  return prepared.map(({ service }) => service.data)
}

const ANSWER_MS = 1_000

/** A folder of files has no lock, so the service itself is asked. */
export async function refuseRunning(env: Env): Promise<void> {
  const { prepared } = await prepareStack(env)
  const running = await Promise.all(prepared.map(isAnswering))
  const names = prepared.filter((_, index) => running[index]).map(({ entry }) => entry.name)
  if (names.length > 0)
    throw new StartError(`Running here: ${names.join(', ')}. Stop what runs, and try again.`)
}

async function isAnswering({ service: { config } }: Prepared): Promise<boolean> {
  if (config.port === 0) return false
  const url = `${hostUrl(config.host, config.port)}/actuator/health`
  const reply = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => undefined)
  await reply?.body?.cancel()
  return reply !== undefined
}

/** Of a service in production, what must not be used by a second one beside it. */
const NOT_IN_SCRATCH =
  /^(\w+_(PORT|HOST|PUBLIC_URL|DATABASE_URL|ROOT|TRUSTED_ISSUER|REQUIRE_ISSUER|DRAIN_SECONDS)|OTEL_\w+|BACKUP_\w+|SMTP_\w+|MAIL_\w+|WORKERS|METRICS_TOKEN)(_FILE)?$/

/** The same settings and keys, with everything below `folder` and without a payment provider. */
export async function scratchIn(env: Env, folder: string): Promise<Scratch> {
  const own = Object.entries(env).filter(([name]) => !NOT_IN_SCRATCH.test(name))
  const ports = ['SUITE_PORT', ...services.map(({ portSetting }) => portSetting)]
  const scratch: Env = {
    ...Object.fromEntries(own),
    ...Object.fromEntries(ports.map((name) => [name, '0'])),
    ...(await keysOf(env)),
    ...WITHOUT_PROVIDER,
    SUITE_DATA: folder,
    SUITE_DRAIN_SECONDS: '0',
    LOG_LEVEL: 'silent',
  }
  return {
    services: await suiteData(scratch),
    start: async (names) => {
      // The sandbox would go on delivering its webhooks to the services that are in use.
      const only = services.filter(
        ({ name }) => names.includes(name) && name !== 'provider-sandbox',
      )
      const stack = await startStack({ env: scratch, only })
      try {
        for (const { url, entry } of stack.services) await requireHealthy(entry.name, url)
      } finally {
        await stack.close()
      }
    },
  }
}

/** Blank, and not absent: otherwise payments would be connected with the sandbox. */
const WITHOUT_PROVIDER: Env = {
  PROVIDER_SECRET_KEY: '',
  PROVIDER_WEBHOOK_SECRET: '',
  PROVIDER_API_BASE: undefined,
}

async function keysOf(env: Env): Promise<Env> {
  const keys = (await suiteData(env)).flatMap((service) => Object.entries(service.keys))
  return Object.fromEntries(keys.map(([name, key]) => [name, key.toString('base64')]))
}

async function requireHealthy(name: string, url: string): Promise<void> {
  const reply = await fetch(`${url}/actuator/health`, { signal: AbortSignal.timeout(30_000) })
  await reply.body?.cancel()
  if (!reply.ok) throw new StartError(`${name} starts on the restored data, but is not healthy.`)
}
