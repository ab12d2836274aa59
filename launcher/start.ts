/** `plinth start` runs everything, `plinth start identity` runs one service; with `WORKERS=4`, in four processes. */
import cluster from 'node:cluster'
import { isatty } from 'node:tty'
import { closeOnSignals, exitWith, run } from '@plinth/kit/http'
import type { Env } from '@plinth/kit/runtime'
import { withSuiteAddress } from './config.ts'
import { prepareProcess } from './prepare/prepare.ts'
import type { ServiceEntry } from './services.ts'
import { type Measured, metricsOf, startManagement, watch } from './stack/management.ts'
import { panelOf, startedLine } from './stack/panel.ts'
import { startStack } from './stack/stack.ts'
import { answerWithMetrics } from './workers/metrics.ts'
import { followPrimary, reportListening, runWorkers } from './workers/workers.ts'

/** Starts every service if `entries` is empty. They run until the process is told to stop. */
export async function startServices(entries: ServiceEntry[], env: Env): Promise<void> {
  const [only, ...others] = entries
  await (only && others.length === 0 ? runService(only, env) : runStack(entries, env))
}

async function runStack(entries: ServiceEntry[], env: Env): Promise<void> {
  const terminal = isatty(1)
  // On a terminal, log lines would scroll the panel out of view.
  if (terminal) env.LOG_LEVEL ??= 'error'
  const stack = await startStack({ env, only: entries })
  closeOnSignals(stack.close)
  console.log((terminal ? panelOf : startedLine)(stack, performance.now()))
}

const NO_SCHEDULE =
  'BACKUP_AT is ignored: a service that is started alone makes no backups. Use plinth-backup.timer.'

async function runService(entry: ServiceEntry, env: Env): Promise<void> {
  const { name, portSetting } = entry
  const prepare = async () => entry.prepare(withSuiteAddress(env))
  const { workers, management } = await prepareProcess(env, prepare)
  if (workers > 1 && cluster.isPrimary) return runWorkers(workers, management)
  const closeOn = cluster.worker ? followPrimary(cluster.worker) : closeOnSignals
  const measured: Measured[] = []
  let operators: { close(): Promise<void> } | undefined
  await run(
    async () => {
      const { config, create } = await prepare()
      const server = await create()
      measured.push({ name, server })
      if (env.BACKUP_AT && (cluster.worker?.id ?? 1) === 1) server.log.warn(NO_SCHEDULE)
      if (cluster.worker) answerWithMetrics(cluster.worker, () => metricsOf(measured))
      return { server, ...config, portSetting }
    },
    (close) =>
      closeOn(async () => {
        await close()
        // Closed last, so that operators can watch the shutdown.
        await operators?.close()
      }),
  )
  reportListening()
  // Only once the service accepts requests: the listener must not delay its start.
  if (!cluster.worker)
    operators = await startManagement(management, () => watch(measured)).catch(exitWith)
}
