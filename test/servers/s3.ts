import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { unpackDebian } from './debian.ts'

const HERE = import.meta.dirname
const PYTHON = '/usr/bin/python3' // Debian's own: the packages are built for it
// Older releases do not support the checksums and chunks of current clients.
const SWIFT_RELEASE = 'trixie'
const READY_MS = 120_000
const SMALL_DISK_BYTES = 40 * 1024 * 1024

export type S3Settings = {
  endpoint: string
  region: string
  bucket: string
  accessKey: string
  secretKey: string
  pathStyleAccess: boolean
}

export type S3Bucket = { settings: S3Settings }

/** A real S3-compatible server that a test can pause, kill and restart with its objects. */
export type S3Server = S3Bucket & {
  pause(): void
  resume(): void
  kill(): Promise<void>
  restart(): Promise<void>
}

type Cleanup = { after(cleanup: () => Promise<void>): void }

/** Why these tests cannot run on this machine, or `false`. The first call unpacks the server. */
export async function s3Missing(): Promise<string | false> {
  if (!existsSync(PYTHON)) return `the S3 test server needs ${PYTHON} (Debian)`
  try {
    await unpackSwift()
    return false
  } catch (error) {
    return `no S3 test server: ${(error as Error).message}`
  }
}

/** OpenStack Swift, whose S3 interface checks signatures. */
function unpackSwift() {
  return unpackDebian('python3-swift', { release: SWIFT_RELEASE })
}

const SETTINGS = {
  region: 'us-east-1',
  bucket: 'files',
  accessKey: 'test:tester',
  secretKey: 'testing-secret',
  pathStyleAccess: true,
}

let common: Promise<{ endpoint: string }> | undefined
let buckets = 0

/** A bucket for tests that only store and read: one server for all test files of this process. */
export async function bucketOnS3(): Promise<S3Bucket> {
  common ??= startCommon()
  const { endpoint } = await common
  buckets += 1
  const settings = { ...SETTINGS, bucket: `bucket-${buckets}`, endpoint }
  await createBucket(settings)
  return { settings }
}

/** Unreferenced, so that it does not keep this process alive; it dies with it. */
async function startCommon() {
  const folder = await mkdtemp(join(tmpdir(), 'swift-s3-'))
  const running = await launch([folder, '0', SETTINGS.accessKey, SETTINGS.secretKey], false)
  process.once('exit', () => {
    running.process.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  running.process.unref()
  return { endpoint: `http://127.0.0.1:${running.port}` }
}

/** A server for one test, which may pause, kill and restart it. */
export async function startS3(t: Cleanup, options: { smallDisk?: boolean } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'swift-s3-'))
  const arguments_ = (port: number) => [folder, `${port}`, SETTINGS.accessKey, SETTINGS.secretKey]
  let running = await launch(arguments_(0), options.smallDisk ?? false)
  const { port } = running

  const server: S3Server = {
    settings: { ...SETTINGS, endpoint: `http://127.0.0.1:${port}` },
    pause: () => void running.process.kill('SIGSTOP'),
    resume: () => void running.process.kill('SIGCONT'),
    kill: () => end(running.process),
    async restart() {
      await end(running.process)
      running = await launch(arguments_(port), options.smallDisk ?? false)
    },
  }
  t.after(async () => {
    await end(running.process)
    await rm(folder, { recursive: true, force: true })
  })
  await createBucket(server.settings)
  return server
}

async function launch(swiftArguments: string[], smallDisk: boolean) {
  const command = [PYTHON, '-W', 'ignore', join(HERE, 'swift-s3.py'), ...swiftArguments]
  const [file = '', ...rest] = smallDisk ? onSmallDisk(swiftArguments[0] ?? '', command) : command
  const { root, libraries } = await unpackSwift()
  const child = spawn(file, rest, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'),
      LD_LIBRARY_PATH: libraries,
    },
  })
  return { process: child, port: await readyPort(child) }
}

/** Mounts a small tmpfs on the data folder, visible only to this process tree. */
function onSmallDisk(folder: string, command: string[]): string[] {
  const mount = `mount -t tmpfs -o size=${SMALL_DISK_BYTES} tmpfs "$0" && exec "$@"`
  return ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', mount, folder, ...command]
}

async function readyPort(child: ChildProcess): Promise<number> {
  if (!child.stdout) throw new Error('The S3 test server has no output.')
  const timer = setTimeout(() => child.kill('SIGKILL'), READY_MS)
  child.once('exit', () => clearTimeout(timer))
  for await (const line of createInterface({ input: child.stdout })) {
    const ready = /^ready (\d+)$/.exec(line)
    if (ready) {
      clearTimeout(timer)
      child.stdout.destroy()
      return Number(ready[1])
    }
  }
  throw new Error('The S3 test server ended before it was ready.')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function createBucket(settings: S3Settings): Promise<void> {
  const client = new S3Client({
    endpoint: settings.endpoint,
    region: settings.region,
    forcePathStyle: true,
    credentials: { accessKeyId: settings.accessKey, secretAccessKey: settings.secretKey },
  })
  await client.send(new CreateBucketCommand({ Bucket: settings.bucket }))
  client.destroy()
}
