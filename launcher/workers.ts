import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'

/**
 * Runs this program in several processes that share one port. A process that dies is replaced; one
 * that never got as far as listening ends everything, because another would fail the same way.
 */
export async function runWorkers(count: number): Promise<void> {
  let stopping = false
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(signal === 'SIGINT' ? 130 : 143)
    stopping = true
    for (const worker of workers()) worker.process.kill('SIGTERM')
  }
  process.on('SIGTERM', stop).on('SIGINT', stop)

  const listening = new WeakSet<Worker>()
  cluster.on('listening', (worker) => listening.add(worker))
  cluster.on('exit', (worker, code) => {
    if (stopping) return
    if (!listening.has(worker)) process.exit(code || 1)
    console.error(JSON.stringify({ msg: 'worker replaced', pid: worker.process.pid, code }))
    cluster.fork()
  })
  // The first one goes ahead: it migrates the database, and a fault is reported once.
  await once(cluster.fork(), 'listening')
  for (let started = 1; started < count; started++) cluster.fork()
  while (!stopping || workers().length > 0) await once(cluster, 'exit')
  process.exit(0)
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}
