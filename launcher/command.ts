/** `npm start` runs everything; `npm start -- identity` one service, `WORKERS=4` in four processes. */
import cluster from 'node:cluster'
import { isatty } from 'node:tty'
import {
  asksForHelp,
  closeOnSignals,
  type Env,
  exitWith,
  readEnvFile,
  run,
  type Server,
  StartError,
} from '@plinth/kit'
import { loadManagement, loadWorkerCount, type ManagementConfig } from './config.ts'
import { services } from './services.ts'
import { metricsOf, type ReadMetrics, startManagement } from './stack/management.ts'
import { panelOf, startedLine } from './stack/panel.ts'
import { startStack } from './stack/stack.ts'
import { answerWithMetrics } from './workers/metrics.ts'
import { followPrimary, reportListening, runWorkers } from './workers/workers.ts'

const HELP = `Usage:
  npm start                       runs every service and a page that lists them
  npm start -- <service>          runs one: ${services.map(({ name }) => name).join(', ')}
  WORKERS=4 npm start -- <service>  runs it in four processes behind one port

Settings come from the environment and from .env; .env.example lists them.`

try {
  readEnvFile()
  const words = process.argv.slice(2)
  if (asksForHelp(words)) console.log(HELP)
  else await (words[0] === undefined ? runSuite() : runService(words[0]))
} catch (error) {
  exitWith(error)
}

async function runSuite(): Promise<void> {
  const terminal = isatty(1)
  // On a terminal the panel is the message: log lines would push it away.
  if (terminal) process.env.LOG_LEVEL ??= 'error'
  const stack = await startStack()
  closeOnSignals(() => stack.close(stack.config.drainSeconds))
  console.log((terminal ? panelOf : startedLine)(stack, performance.now()))
}

async function runService(name: string, env: Env = process.env): Promise<void> {
  const entry = services.find((service) => service.name === name)
  if (!entry) throw unknownService(name)
  const workers = loadWorkerCount(env)
  const management = loadManagement(env)
  if (workers > 1 && cluster.isPrimary) return runWorkers(workers, management)
  const closeOn = cluster.worker ? followPrimary(cluster.worker) : closeOnSignals
  await run(async () => {
    const { config, create } = await entry.prepare(env)
    const server = await create()
    const readMetrics = () => metricsOf([{ name, server }])
    if (cluster.worker) answerWithMetrics(cluster.worker, readMetrics)
    else await manage(server, management, readMetrics)
    return { server, ...config, portSetting: entry.portSetting }
  }, closeOn)
  reportListening()
}

async function manage(
  server: Server,
  config: ManagementConfig | undefined,
  read: () => ReadMetrics,
): Promise<void> {
  const management = await startManagement(config, read)
  if (management) server.onClose(() => management.close())
}

function unknownService(name: string): StartError {
  const names = services.map((service) => service.name)
  return new StartError(`There is no service "${name}". Expected one of ${names.join(', ')}.`)
}
