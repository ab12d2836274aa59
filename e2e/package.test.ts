import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync, statSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { identityClient } from '@plinth/client'
import { freePortSettings, freePorts } from '../test/servers/free-ports.ts'
import { until } from '../test/until.ts'
import { node12, oldNode } from './client/runtimes.ts'
import { LINTERS, lint } from './package-linters.ts'

const ROOT = join(import.meta.dirname, '..')
const MAX_MB = 120
/** Most of it is SQLite, prebuilt for eight platforms. */
const MAX_TARBALL_BYTES = 12_000_000
const MINUTES = 60_000
const run = promisify(execFile)
const old = await oldNode().catch((error: Error) => error)
const oldest = await node12().catch((error: Error) => error)

describe('the packed plinth, installed in an empty folder', {
  skip: old instanceof Error && old.message,
}, () => {
  let folder: string
  let tarball: string
  const plinth = () => join(folder, 'node_modules/.bin/plinth')
  // The first Node on the PATH is an old one.
  const PATH = [dirname(String(old)), process.env.PATH].join(delimiter)

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plinth-installed-'))
    const { stdout } = await run(process.execPath, [join(ROOT, 'release/pack.ts'), folder], {
      timeout: 5 * MINUTES,
    })
    tarball = stdout.split('\n').find((line) => /plinth-\d[^/]*\.tgz$/.test(line)) ?? ''
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent']
    const started = performance.now()
    await run('npm', ['install', ...quiet, tarball], {
      cwd: folder,
      env: { ...process.env, PATH },
      timeout: 5 * MINUTES,
    })
    console.log(`# npm install took ${((performance.now() - started) / 1000).toFixed(1)} s`)
  })
  after(() => rm(folder, { recursive: true, force: true }))

  test('is plain JavaScript with exact dependency versions and no install scripts', () => {
    const home = join(folder, 'node_modules/plinth')
    const sources = globSync('**/*.ts', { cwd: home, exclude: ['**/*.d.ts'] })
    const { dependencies, scripts, ...manifest } = JSON.parse(
      readFileSync(join(home, 'package.json'), 'utf8'),
    )

    assert.deepEqual(sources, [])
    const { devDependencies, private: isPrivate } = manifest
    assert.deepEqual([scripts, devDependencies, isPrivate], [undefined, undefined, undefined])
    for (const [name, version] of Object.entries(dependencies))
      assert.match(String(version), /^\d+\.\d+\.\d+$/, name)
  })

  // Installing from a lock file, npm 9 and 10 compile whatever has one, even if it is prebuilt.
  test('contains nothing that npm would compile', () => {
    const packages = '{*,@*/*,plinth/node_modules/*}'
    const found = globSync(`${packages}/binding.gyp`, { cwd: join(folder, 'node_modules') })

    assert.deepEqual(found, [])
  })

  test('is small', () => {
    const modules = join(folder, 'node_modules')
    const sizes = globSync('**/*', { cwd: modules, exclude: ['node-*'] })
      .map((name) => statSync(join(modules, name), { throwIfNoEntry: false }))
      .map((file) => (file?.isFile() ? file.size : 0))
    const megabytes = sizes.reduce((sum, size) => sum + size, 0) / 2 ** 20

    console.log(`# installed without Node: ${megabytes.toFixed(0)} MB`)
    assert.ok(megabytes > 10 && megabytes <= MAX_MB, String(megabytes))
    assert.ok(statSync(tarball).size <= MAX_TARBALL_BYTES)
  })

  test('starts, serves and forwards SIGTERM although the Node on the PATH is old', async (t) => {
    const [management = 0] = await freePorts(1)
    const ports: Record<string, string> = {
      ...(await freePortSettings()),
      SUITE_MANAGEMENT_PORT: String(management),
    }
    const { child, lines } = start(t, plinth(), ['start'], ports)
    const started = await until(
      () => lines.find((line) => line.includes('"started"')),
      (line) => line !== undefined || child.exitCode !== null,
    )

    const health = await run(plinth(), ['health', '--json'], {
      env: { PATH, ...ports },
      cwd: folder,
    })
    const session = identityClient(`http://localhost:${ports.IDENTITY_PORT}`)
    await session.logIn('admin', 'password123123')
    const { username } = await session.account.get()
    const page = await fetch(`http://localhost:${ports.IDENTITY_PORT}/api-test/page.js`)
    const metrics = await fetch(`http://localhost:${management}/actuator/prometheus`)
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')

    assert.ok(started)
    assert.equal(JSON.parse(health.stdout).length, 6)
    assert.equal(username, 'admin')
    assert.deepEqual([page.status, metrics.status], [200, 200])
    assert.equal(code, 0)
    await assert.rejects(fetch(`http://localhost:${ports.IDENTITY_PORT}/actuator/health`))
  })

  test('exits by the signal that ended its child Node', async (t) => {
    const { child } = start(t, plinth(), ['health', 'identity', '--wait', '60'], {})
    const children = `/proc/${child.pid}/task/${child.pid}/children`
    await until(
      () => readFileSync(children, 'utf8'),
      (pids) => pids !== '',
    )

    child.kill('SIGHUP')
    const [code, signal] = await once(child, 'exit')

    assert.deepEqual([code, signal], [null, 'SIGHUP'])
  })

  test('installs globally', async () => {
    const prefix = join(folder, 'global')
    const words = [
      'install',
      '--global',
      '--prefix',
      prefix,
      '--ignore-scripts',
      '--silent',
      tarball,
    ]
    await run('npm', words, { env: { ...process.env, PATH }, timeout: 5 * MINUTES })

    const { stdout } = await run(join(prefix, 'bin/plinth'), ['version'], { env: { PATH } })

    assert.match(stdout, /^plinth \d+\.\d+\.\d+ \(Node 2[6-9]\./)
  })

  test('works as a library: the example guards payments inside another program', async (t) => {
    const [port = 0] = await freePorts(1)
    const example = join(ROOT, 'release/example.mjs')
    await copyFile(example, join(folder, 'example.mjs'))
    const words = ['example.mjs', join(folder, 'shop'), String(port)]
    const { child, lines } = start(t, process.execPath, words, {})
    await until(
      () => lines,
      (seen) => seen.includes('open') || child.exitCode !== null,
    )
    const statusFor = async (path: string, cookie = '') =>
      (await fetch(`http://localhost:${port}${path}`, { headers: { cookie } })).status

    assert.equal(await statusFor('/api/payments', 'user=alice'), 200)
    assert.equal(await statusFor('/api/payments', 'user=bob'), 403)
    assert.equal(await statusFor('/api/payments'), 403)
    assert.equal(await statusFor('/'), 200)
    assert.ok(lines.includes('alice wants payments at /api/payments'))
    assert.ok((await readFile(example, 'utf8')).split('\n').length <= 31)
    child.kill('SIGTERM')
    assert.deepEqual(await once(child, 'exit'), [0, null])
  })

  test('works as a library: the example of its README listens by itself', async (t) => {
    const [port = 0] = await freePorts(1)
    const readme = await readFile(join(folder, 'node_modules/plinth/README.md'), 'utf8')
    const [, example = ''] = /```js\n(.*?)```/s.exec(readme) ?? []
    const program = example
      .replace('9084', String(port))
      .replace('/var/lib/shop', join(folder, 'listening-shop'))
    const isMine = "const isMine = (cookie) => cookie === 'mine'"
    await writeFile(join(folder, 'listening.mjs'), `${program}\n${isMine}\nconsole.log('open')`)
    const { child, lines } = start(t, process.execPath, ['listening.mjs'], {})
    await until(
      () => lines,
      (seen) => seen.includes('open') || child.exitCode !== null,
    )
    const unknown = `http://localhost:${port}/api/payments/5b4f5a0e-6a53-4f62-93f6-0a1f6e0b7a11`
    const statusFor = async (cookie: string) =>
      (await fetch(unknown, { headers: { cookie } })).status

    assert.equal(await statusFor('mine'), 404)
    assert.equal(await statusFor('other'), 403)
  })

  for (const tool of LINTERS)
    test(`${tool} reports no problems`, async () => {
      assert.match(await lint(tool, tarball), /plinth/)
    })

  function start(
    t: { after(work: () => void): void },
    program: string,
    words: string[],
    env: Record<string, string>,
  ): { child: ChildProcess; lines: string[] } {
    const child = spawn(program, words, { cwd: folder, env: { PATH, ...env } })
    const lines: string[] = []
    child.stdout.on('data', (chunk) => lines.push(...String(chunk).trimEnd().split('\n')))
    t.after(() => child.kill('SIGKILL'))
    return { child, lines }
  }
})

describe('a bundled Node that does not start', {
  skip: oldest instanceof Error && oldest.message,
}, () => {
  const FAULTS = {
    libatomic: [
      'echo "node: error while loading shared libraries: libatomic.so.1: cannot open" >&2; exit 127',
      /apt-get install libatomic1[\s\S]*dnf install libatomic/,
    ],
    'something else': ['echo "no luck" >&2; exit 127', /does not start: no luck/],
  } as const
  for (const [name, [script, says]] of Object.entries(FAULTS))
    test(`because of ${name} is explained, with exit code 69`, async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'plinth-bin-'))
      t.after(() => rm(folder, { recursive: true }))
      const runtime = join(folder, `node_modules/node-${process.platform}-${process.arch}`)
      await mkdir(join(runtime, 'bin'), { recursive: true })
      await writeFile(join(runtime, 'package.json'), '{}')
      await writeFile(join(runtime, 'bin/node'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
      await copyFile(join(ROOT, 'release/bin.cjs'), join(folder, 'bin.cjs'))

      const failure = await run(String(oldest), [join(folder, 'bin.cjs'), 'version']).catch(
        (error) => error,
      )

      assert.equal(failure.code, 69)
      assert.match(failure.stderr, says)
    })
})

test('docs/library.md contains the example unchanged', () => {
  const page = readFileSync(join(ROOT, 'docs/library.md'), 'utf8')

  assert.ok(page.includes(readFileSync(join(ROOT, 'release/example.mjs'), 'utf8')))
})
