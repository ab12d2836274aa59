import { inService, listen, type Server } from '@plinth/kit/http'
import { createLogger } from '@plinth/kit/logging'
import { type Env, isLoopback, SettingsError, systemClock } from '@plinth/kit/runtime'
import { measureBackups } from '../backups/health.ts'
import { type BackupConfig, loadBackups, type SuiteConfig } from '../config.ts'
import { type Prepared, prepareStack } from '../prepare/prepare.ts'
import { prefixOf, type RunningService, type ServiceEntry } from '../services.ts'
import { keepHistory } from './health/history.ts'
import { keepActivity } from './home/activity.ts'
import { createLanding } from './landing.ts'
import { serviceMetricsOf, startManagement, watch } from './management.ts'
import { mountServices } from './one-address.ts'
import { Shutdown } from './shutdown.ts'

export type Stack = {
  config: SuiteConfig
  landingUrl: string
  services: RunningService[]
  /** Drains each service first. */
  close(): Promise<void>
}

type Choice = { env?: Env; only?: ServiceEntry[] }

/** Starts all services (or only some) and the landing page in this process; if one fails, none is left running. */
export async function startStack({ env = process.env, only }: Choice = {}): Promise<Stack> {
  const { config, management, workers, prepared } = await prepareStack(env, only)
  if (workers > 1)
    throw new SettingsError([
      {
        name: 'WORKERS',
        found: '(set)',
        expected: 'Expected 1, unless only one service is started.',
        example: '4 npm start -- identity',
      },
    ])
  const backups = loadBackups(env)
  const shutdown = new Shutdown()
  try {
    const running = await startAll(config, prepared, shutdown)
    const measured = running.map(({ entry, server }) => ({ name: entry.name, server }))
    const shown = isPrivate(config)
    const log = createLogger('landing', config.logLevel)
    const read = serviceMetricsOf(measured)
    const history = shown || management ? keepHistory(read, systemClock, log) : undefined
    const activity = keepActivity(read, systemClock, log)
    const details = shown ? { history, backups } : undefined
    const landing = createLanding(config, running, { log, details, activity })
    landing.onClose(() => activity.stop())
    shutdown.addLanding(landing, config)
    landing.onClose(() => history?.stop())
    mountServices(landing, config, running)
    measureBackups(landing.metrics, backups)
    await scheduleBackups(landing, { env, backups, prepared, logLevel: config.logLevel })
    measured.push({ name: 'landing', server: landing })
    const landingUrl = await listen(landing, { ...config, portSetting: 'SUITE_PORT' })
    const operators = await startManagement(management, () => watch(measured, history))
    // Closed last, so that operators can watch the shutdown.
    const closeAll = async () => {
      await shutdown.close({ isServing: true })
      await operators?.close()
    }
    return { config, landingUrl, services: running, close: closeAll }
  } catch (error) {
    await shutdown.close({ isServing: false })
    throw error
  }
}

type Scheduled = { env: Env; backups: BackupConfig; prepared: Prepared[]; logLevel: string }

/** Runs until the landing page closes. Loads no code if BACKUP_AT is not set. */
async function scheduleBackups(
  landing: Server,
  { env, backups, prepared, logLevel }: Scheduled,
): Promise<void> {
  if (backups.at === undefined) return
  const { startSchedule } = await import('../backups/schedule.ts')
  const services = prepared.map(({ service }) => service.data)
  const log = createLogger('backup', logLevel)
  const schedule = startSchedule({ env, config: backups, services, log })
  landing.onClose(() => schedule?.stop())
}

/** A suite that other machines can reach shows the Health page on the management listener only. */
function isPrivate({ production, host, publicUrl }: SuiteConfig): boolean {
  return !production && isLoopback(host) && isLoopback(new URL(publicUrl).hostname)
}

async function startAll(
  { production }: SuiteConfig,
  prepared: Prepared[],
  shutdown: Shutdown,
): Promise<RunningService[]> {
  const servers = await allSettled(
    prepared.map(async (each) => {
      const server = await each.service.create()
      shutdown.add(server, each)
      return { ...each, server }
    }),
  )
  return allSettled(
    servers.map(async ({ entry, service, atSuite, server }) => {
      const { portSetting } = entry
      const address = { ...service.config, portSetting }
      const named = { name: entry.name, prefix: prefixOf(entry) }
      const url = await inService(named, () => listen(server, address))
      const { config, trustedIssuer, conveniences } = service
      const { publicUrl } = config
      const publicPaths = production ? entry.publicPaths : undefined
      return { entry, server, url, publicUrl, publicPaths, atSuite, trustedIssuer, conveniences }
    }),
  )
}

/** Fails only when all have ended: a server that is closed while it begins to listen would go on listening. */
async function allSettled<T>(work: Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}
