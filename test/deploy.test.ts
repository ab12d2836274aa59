import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  accessSync,
  appendFileSync,
  constants,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { VERSION } from '@plinth/kit/database'
import { services } from '../launcher/services.ts'
import { debianProgram } from './servers/debian.ts'

const ROOT = join(import.meta.dirname, '..')
const run = promisify(execFile)
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const analyze = await debianProgram('systemd-analyze', 'systemd').catch((error: Error) => error)

/** systemd-analyze looks for no other place. */
function noTemporaryFiles(): string | false {
  try {
    accessSync('/tmp', constants.W_OK)
    return false
  } catch {
    return 'systemd-analyze needs a /tmp that it may write'
  }
}

async function analyzed(...words: string[]) {
  assert.ok(!(analyze instanceof Error))
  const { path, env } = analyze
  const folders = (env.LD_LIBRARY_PATH ?? '').split(':').filter(Boolean)
  const libraries = folders.flatMap((folder) => [folder, `${folder}/systemd`]).join(':')
  return run(path, ['--no-pager', ...words], {
    env: { ...env, ...(libraries && { LD_LIBRARY_PATH: libraries }) },
  })
}

describe('deploy/, Dockerfile and compose.yaml:', () => {
  const skip = analyze instanceof Error ? analyze.message : noTemporaryFiles()

  test('the unit has an exposure level below 2.0', { skip }, async () => {
    const unit = join(ROOT, 'deploy/plinth.service')

    const { stdout } = await analyzed('security', '--offline=true', '--threshold=20', unit)

    assert.match(stdout, /Overall exposure level for plinth\.service: [01]\.\d/)
  })

  test('systemd accepts the units and the timer', { skip }, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'plinth-units-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const units = ['plinth.service', 'plinth-backup.service', 'plinth-backup.timer']
    // Without Plinth on this machine, systemd would complain that the program is missing.
    for (const unit of units)
      writeFileSync(
        join(folder, unit),
        read(`deploy/${unit}`).replaceAll('/opt/plinth/node_modules/.bin/plinth', '/usr/bin/env'),
      )

    const { stderr } = await analyzed(
      'verify',
      '--man=no',
      ...units.map((unit) => join(folder, unit)),
    )

    assert.equal(stderr, '')
  })

  test('a start with a long migration does not time out', () => {
    const unit = read('deploy/plinth.service')

    assert.match(unit, /^ExecStartPost=.* health --wait \d+ --pid \$MAINPID$/m)
    assert.match(unit, /^TimeoutStartSec=infinity$/m)
  })

  test('services and commands in /etc/plinth use the same data', () => {
    assert.match(read('docs/server.md'), /^plinth init .*--data \/var\/lib\/plinth$/m)
    assert.doesNotMatch(read('docs/server.md'), /^plinth (?!init).*--data/m)
    assert.match(read('deploy/plinth.service'), /^Environment=SUITE_DATA=%S\/plinth$/m)
    assert.match(
      read('deploy/plinth-backup.service'),
      /^Environment=SUITE_DATA=\/var\/lib\/plinth$/m,
    )
    for (const unit of ['plinth.service', 'plinth-backup.service'])
      assert.match(read(`deploy/${unit}`), /^EnvironmentFile=\/etc\/plinth\/\.env$/m)
  })

  test('the timer verifies its backups, as BACKUP_AT does', () => {
    assert.match(read('deploy/plinth-backup.service'), /^ExecStart=.* backup create --verify$/m)
  })

  test('containers have minimal privileges and an init', () => {
    const own = /^ {2}plinth:\n(?: {4}.*\n)+/m.exec(read('compose.yaml'))?.[0] ?? ''
    for (const line of [
      'init: true',
      'read_only: true',
      'cap_drop: [ALL]',
      'security_opt: ["no-new-privileges:true"]',
    ])
      assert.ok(own.includes(`\n    ${line}\n`), line)

    const cluster = read('deploy/kubernetes.yaml')
    for (const line of [
      'runAsNonRoot: true',
      'readOnlyRootFilesystem: true',
      'allowPrivilegeEscalation: false',
      'capabilities: { drop: [ALL] }',
      'enableServiceLinks: false',
    ])
      assert.match(cluster, new RegExp(`^ +${RegExp.escape(line)}$`, 'm'))
  })

  test('the cluster probes liveness and readiness, and can drain a node', () => {
    const cluster = read('deploy/kubernetes.yaml')
    const probe = (name: string) =>
      new RegExp(`^ +${name}:\\n +httpGet: \\{ path: (\\S+), port: http \\}$`, 'm').exec(
        cluster,
      )?.[1]

    assert.deepEqual(['startupProbe', 'livenessProbe', 'readinessProbe'].map(probe), [
      '/actuator/health/liveness',
      '/actuator/health/liveness',
      '/actuator/health/readiness',
    ])
    const budget = cluster.split('---\n').find((part) => /^kind: PodDisruptionBudget$/m.test(part))
    assert.match(
      budget ?? '',
      /^ {2}maxUnavailable: 1\n {2}selector: \{ matchLabels: \{ app: plinth \} \}$/m,
    )
  })

  test('the unit and the cluster get every secret that "plinth init" writes', () => {
    const written = read('cli/commands/setup/init.ts').matchAll(/^([A-Z_]+)=secrets\/(\S+)$/gm)
    const unit = read('deploy/plinth.service')

    const secrets = [...written]
    assert.ok(secrets.length > 4)
    for (const [, setting = '', file = ''] of secrets) {
      assert.match(unit, new RegExp(` ${setting}=%d/${file} `))
      const named = `name: ${setting}, value: /secrets/${file} }`
      assert.ok(read('deploy/kubernetes.yaml').includes(named), named)
      assert.ok(unit.includes(`LoadCredential=${file}:/etc/plinth/secrets/${file}\n`), file)
    }
  })

  test('the sed in docs/server.md removes the first password and nothing else', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'plinth-sed-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const command = /^sed -i .*plinth\.service$/m.exec(read('docs/server.md'))?.[0] ?? ''
    await run(
      process.execPath,
      [join(ROOT, 'cli/main.js'), 'init', '--admin-email', 'ada@example.com'],
      { cwd: folder },
    )
    appendFileSync(join(folder, '.env'), 'MAIL_FROM=admin@app.example\n')
    copyFileSync(join(ROOT, 'deploy/plinth.service'), join(folder, 'plinth.service'))
    const written = readFileSync(join(folder, '.env'), 'utf8')

    await run('sh', ['-c', command.replaceAll(/\/etc\/(plinth|systemd\/system)\//g, '')], {
      cwd: folder,
    })

    const unit = readFileSync(join(folder, 'plinth.service'), 'utf8')
    assert.match(unit, /^ExecStart=\/usr\/bin\/env \\\n(?: {2}[A-Z_]+=\S+ \\\n){4} {2}\S+ start$/m)
    assert.equal(unit.match(/^LoadCredential=/gm)?.length, 4)
    assert.equal(
      readFileSync(join(folder, '.env'), 'utf8'),
      written.replaceAll(/^(IDENTITY|STORAGE_FULL)_ADMIN_.*\n/gm, ''),
    )
  })

  test('the Caddyfile that docs/server.md makes has the host name and one address', async () => {
    const [, command = ''] =
      /^host=app\.example\n(sed [\s\S]+?) > \/etc/m.exec(read('docs/server.md')) ?? []
    const here = command.replace('/opt/plinth/node_modules/plinth', ROOT)

    const { stdout } = await run('sh', ['-c', `host=shop.example; ${here}`])

    assert.deepEqual(stdout.match(/^\S+ \{$/gm), ['(inside) {', 'shop.example {'])
  })

  test('a stop signals only the main process, which forwards it', () => {
    assert.match(read('deploy/plinth.service'), /^KillMode=mixed$/m)
  })

  test('stop timeouts are longer than the 5 s of drain plus 25 s of requests in flight', () => {
    assert.match(read('deploy/plinth.service'), /^TimeoutStopSec=40$/m)
    assert.match(read('compose.yaml'), /stop_grace_period: 40s/)
    assert.match(read('deploy/kubernetes.yaml'), /terminationGracePeriodSeconds: 40/)
  })

  test('nothing is started through npm, and invalid settings cause no restart', () => {
    assert.match(read('Dockerfile'), /^CMD \["node", /m)
    assert.doesNotMatch(read('deploy/plinth.service'), /^Exec.*npm/m)
    assert.match(read('deploy/plinth.service'), /^RestartPreventExitStatus=78$/m)
  })

  test('the files contain no secrets', () => {
    for (const file of ['compose.yaml', 'deploy/kubernetes.yaml', 'deploy/plinth.service'])
      assert.doesNotMatch(
        read(file),
        /(PASSWORD|KEY|SECRET|TOKEN)(:|=| value:) *['"]?[\w-]{8}/,
        file,
      )
  })

  test('the image exposes the landing page and every service except the sandbox', () => {
    const named = services.filter(({ name }) => name !== 'provider-sandbox').map(({ port }) => port)

    const exposed = /^EXPOSE (.+)$/m.exec(read('Dockerfile'))?.[1]?.split(' ').map(Number)

    assert.deepEqual(exposed, [8080, ...named])
  })

  test('all use the version of the package', () => {
    const { version } = JSON.parse(read('package.json'))

    for (const file of ['compose.yaml', 'deploy/kubernetes.yaml'])
      assert.match(read(file), new RegExp(`image: plinth:${version}$`, 'm'))
    assert.ok(read('Dockerfile').includes(`image.version=${version} `))
    assert.ok(read('docs/server.md').includes(`./plinth-${version}.tgz`))
    assert.equal(VERSION, version)
  })
})
