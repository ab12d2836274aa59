import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the ports that systems give out by themselves (Linux: from 32768), so that no connection
// opened meanwhile takes one; and each process looks in a place of its own.
const FIRST = 16_384
const PLACES = 1_000
const PORTS_OF_A_PLACE = 16
let next = FIRST + (process.pid % PLACES) * PORTS_OF_A_PLACE

/** Ports nobody uses at this moment, all different. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = next++
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, 'localhost')
  try {
    await once(probe, 'listening')
  } catch {
    return false
  }
  await once(probe.close(), 'close')
  return true
}
