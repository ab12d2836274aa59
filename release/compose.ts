import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { copyFileSync, existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { unpackDebian } from '../test/servers/debian.ts'
import { freePorts } from '../test/servers/free-ports.ts'
import { until } from '../test/until.ts'

const ROOT = join(import.meta.dirname, '..')
const PROFILES = ['postgres', 's3', 'observe']
const run = promisify(execFile)

/** Tests `compose.yaml` with Docker's own Compose: every profile is valid, and the default one runs. */
export async function tryCompose(engine: string[], image: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-compose-'))
  const program = await composeProgram()
  const service = await engineSocket(engine, join(folder, 'engine.sock'))
  const env = { ...process.env, ...service.env }
  const files = ['--file', 'compose.yaml', '--file', 'override.yaml']
  const compose = async (...words: string[]) => {
    const [name = '', ...rest] = [...program, '--project-name', `plinth-${process.pid}`, ...files]
    return (await run(name, [...rest, ...words], { cwd: folder, env, timeout: 120_000 })).stdout
  }
  try {
    const [port = 0] = await freePorts(1)
    await prepare(folder, { image, port })
    await assertProfiles(compose)
    await compose('up', '--detach', '--no-build')
    await compose('exec', '-T', 'plinth', 'plinth', 'health', '--wait', '60')
    const reply = await fetch(`http://127.0.0.1:${port}/actuator/health`)
    assert.equal(reply.status, 200)
    await compose('stop')
    const [ended] = JSON.parse(`[${(await compose('ps', '--all', '--format', 'json')).trim()}]`)
    assert.deepEqual([ended.State, ended.ExitCode], ['exited', 0])
  } finally {
    await compose('down', '--volumes').catch(() => {})
    service.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Prepares a folder as an operator would: settings and secrets from `plinth init`, readable by the image's user. */
async function prepare(folder: string, { image, port }: { image: string; port: number }) {
  copyFileSync(join(ROOT, 'compose.yaml'), join(folder, 'compose.yaml'))
  const words = [
    join(ROOT, 'cli/main.js'),
    'init',
    '--url',
    'https://app.example',
    '--admin-email',
    'ada@example.com',
  ]
  await run(process.execPath, words, { cwd: folder })
  await chmod(join(folder, 'secrets'), 0o755)
  for (const name of globSync('secrets/*', { cwd: folder })) await chmod(join(folder, name), 0o644)
  writeFileSync(join(folder, 'secrets/garage.env'), 'GARAGE_RPC_SECRET=0\n')
  writeFileSync(
    join(folder, 'override.yaml'),
    `services:
  plinth: { image: '${image}', pull_policy: never, ports: !override ['127.0.0.1:${port}:8080'] }
`,
  )
}

/** Each profile adds its services, and everything they mount is declared. */
async function assertProfiles(compose: (...words: string[]) => Promise<string>): Promise<void> {
  const flags = PROFILES.flatMap((profile) => ['--profile', profile])
  const { services } = JSON.parse(await compose(...flags, 'config', '--format', 'json'))
  const added = Object.values(services as Record<string, { profiles?: string[] }>)
  const { environment } = services.s3
  assert.deepEqual(environment, { GARAGE_DEFAULT_BUCKET: 'plinth', GARAGE_RPC_SECRET: '0' })
  for (const profile of PROFILES)
    assert.ok(
      added.some(({ profiles }) => profiles?.includes(profile)),
      profile,
    )
  assert.deepEqual((await compose('config', '--services')).trim(), 'plinth')
}

/** Docker's own Compose, otherwise that of Debian 13: earlier versions do not support `content` in configs. */
async function composeProgram(): Promise<string[]> {
  const own = ['docker', 'compose']
  const works = await run('docker', ['compose', 'version']).then(
    () => true,
    () => false,
  )
  if (works) return own
  const { root } = await unpackDebian('docker-compose', { release: 'trixie' })
  return [join(root, 'usr/libexec/docker/cli-plugins/docker-compose')]
}

/** Docker already listens for Compose; podman has to be started as a service. */
async function engineSocket([program = '', ...global]: string[], socket: string) {
  if (program.endsWith('docker')) return { env: {}, stop: () => {} }
  const words = [...global, 'system', 'service', '--time=0', `unix://${socket}`]
  const child = spawn(program, words, { stdio: 'ignore' })
  await until(() => existsSync(socket), Boolean)
  return { env: { DOCKER_HOST: `unix://${socket}` }, stop: () => void child.kill() }
}
