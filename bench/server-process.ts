import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const ROOT = join(import.meta.dirname, '..')

export type BenchServer = {
  url: string
  pid: number
  /** From the start of the process to its first accepted connection. */
  startMs: number
  memoryMb(): number | undefined
  peakMemoryMb(): number | undefined
  stop(): Promise<void>
}

/** Runs a main.ts as a process of its own, on a free port and in a temporary data folder. */
export async function startServer(
  file: string,
  portSetting: string,
  env: Record<string, string> = {},
): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'))
  const port = await freePort()
  const started = performance.now()
  const child = spawn(process.execPath, [resolve(ROOT, file)], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      LOG_LEVEL: 'warn',
      SUITE_DATA: folder,
      [portSetting]: String(port),
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  while (child.exitCode === null && !(await accepts(port))) await wait(5)
  if (child.exitCode !== null) throw new Error(`${file} ended with ${child.exitCode}`)
  const pid = child.pid ?? 0
  return {
    url: `http://localhost:${port}`,
    pid,
    startMs: performance.now() - started,
    memoryMb: () => memoryMb(pid, 'VmRSS'),
    peakMemoryMb: () => memoryMb(pid, 'VmHWM'),
    stop,
  }
}

function memoryMb(pid: number, field: string): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
  } catch {
    return undefined // Only Linux tells.
  }
}

async function accepts(port: number): Promise<boolean> {
  const { promise, resolve: settle } = Promise.withResolvers<boolean>()
  const socket = connect(port, 'localhost')
    .on('connect', () => settle(true))
    .on('error', () => settle(false))
  const accepted = await promise
  socket.destroy()
  return accepted
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, 'localhost')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
