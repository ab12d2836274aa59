import cluster from 'node:cluster'
import { closeOnSignals, type Env, run, StartError } from '@plinth/kit'
import { loadWorkerCount } from './config.ts'
import { services } from './services.ts'
import { followPrimary, LISTENING } from './worker.ts'
import { runWorkers } from './workers.ts'

/** One service as a process of its own, or several processes of it behind one port. */
export async function runService(name: string, env: Env = process.env): Promise<void> {
  const entry = services.find((service) => service.name === name)
  if (!entry) throw unknownService(name)
  const workers = loadWorkerCount(env)
  if (workers > 1 && cluster.isPrimary) return runWorkers(workers)
  const closeOn = cluster.worker ? followPrimary(cluster.worker) : closeOnSignals
  await run(async () => {
    const { config, create } = await entry.prepare(env)
    return { server: await create(), ...config, portSetting: entry.portSetting }
  }, closeOn)
  cluster.worker?.send(LISTENING)
}

function unknownService(name: string): StartError {
  const names = services.map((service) => service.name)
  return new StartError(`There is no service "${name}". Expected one of ${names.join(', ')}.`)
}
