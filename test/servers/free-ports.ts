import { once } from 'node:events'
import { createServer } from 'node:net'
import { services } from '../../launcher/services.ts'

// Below the ephemeral ports (Linux: from 32768), so that no outgoing connection takes one in the
// meantime. Each process searches its own range.
const FIRST = 16_384
const RANGES = 250
const PORTS_PER_RANGE = 64
let next = FIRST + (process.pid % RANGES) * PORTS_PER_RANGE

/** Distinct ports that are currently free. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = next++
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

/** A free port for every `…_PORT` setting of `npm start`. */
export async function freePortSettings(): Promise<Record<string, string>> {
  const names = ['SUITE_PORT', ...services.map(({ portSetting }) => portSetting)]
  const ports = await freePorts(names.length)
  return Object.fromEntries(names.map((name, index) => [name, String(ports[index])]))
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
