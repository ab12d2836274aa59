import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { services } from '../../launcher/services.ts'

// Below the ephemeral ports (Linux: from 32768), so that no outgoing connection takes one in the meantime.
const FIRST = 16_384
const RANGES = 250
const PORTS_PER_RANGE = 64
let range = process.pid % RANGES
let next = FIRST
let end = FIRST

/** Distinct ports that are currently free. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    if (next === end) await claimRange()
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

/** Until it ends, a process keeps the first port of its ranges, so that no other process uses their ports. */
async function claimRange(): Promise<void> {
  for (let tries = 0; tries < RANGES; tries++) {
    range = (range + 1) % RANGES
    const first = FIRST + range * PORTS_PER_RANGE
    if (!(await listen(first))) continue
    next = first + 1
    end = first + PORTS_PER_RANGE
    return
  }
  throw new Error('Every range of ports is in use.')
}

async function isFree(port: number): Promise<boolean> {
  const probe = await listen(port)
  if (!probe) return false
  await once(probe.close(), 'close')
  return true
}

async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, 'localhost').unref()
  try {
    await once(server, 'listening')
    return server
  } catch {
    return undefined
  }
}
