/** `npm start` runs everything; `npm start -- identity` one service, `WORKERS=4` in four processes. */
import cluster from 'node:cluster'
import { isatty } from 'node:tty'
import { closeOnSignals, type Env, exitWith, readEnvFile, run, StartError } from '@plinth/kit'
import { loadWorkerCount } from './config.ts'
import { services } from './services.ts'
import { panelOf, startedLine } from './stack/panel.ts'
import { startStack } from './stack/stack.ts'
import { followPrimary, reportListening, runWorkers } from './workers.ts'

try {
  readEnvFile()
  const [name] = process.argv.slice(2)
  await (name === undefined ? runSuite() : runService(name))
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
  if (workers > 1 && cluster.isPrimary) return runWorkers(workers)
  const closeOn = cluster.worker ? followPrimary(cluster.worker) : closeOnSignals
  await run(async () => {
    const { config, create } = await entry.prepare(env)
    return { server: await create(), ...config, portSetting: entry.portSetting }
  }, closeOn)
  reportListening()
}

function unknownService(name: string): StartError {
  const names = services.map((service) => service.name)
  return new StartError(`There is no service "${name}". Expected one of ${names.join(', ')}.`)
}
