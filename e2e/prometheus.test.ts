import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { before, describe, test } from 'node:test'
import { identityClient, storageClient, storageKeyClient } from '@plinth/client'
import { debianProgram } from '../test/servers/debian.ts'
import { freePorts } from '../test/servers/free-ports.ts'
import { suiteCleanup } from '../test/suite-cleanup.ts'
import { until } from '../test/until.ts'
import { startSuite, takePayment } from './stack.ts'

const OBSERVE = join(import.meta.dirname, '../deploy/observe')
const PDF = new Blob(['%PDF-1.4\n%%EOF\n'], { type: 'application/pdf' })
const PASSWORD = 'password123123'
/** The record as `plinth backup` writes it. */
const BACKUP_RECORD = { succeeded: { at: new Date().toISOString(), bytes: 1, seconds: 1 } }

const promtool = () => debianProgram('promtool', 'prometheus')
const skip = await promtool().then(
  () => false as const,
  (error: Error) => `no Prometheus: ${error.message}`,
)

describe('Prometheus, against the running suite', { skip }, () => {
  const shared = suiteCleanup()
  let suite: Awaited<ReturnType<typeof startSuite>>
  let metricsUrl = ''
  let prometheus = ''

  /** The value of a query; undefined while there is no data for it. */
  const ask = async (query: string): Promise<number | undefined> => {
    const reply = await fetch(`${prometheus}/api/v1/query?${new URLSearchParams({ query })}`)
    const { data } = (await reply.json()) as { data: { result: { value: [number, string] }[] } }
    const value = data.result[0]?.value[1]
    return value === undefined ? undefined : Number(value)
  }
  const faultOf = async (query: string): Promise<string | undefined> => {
    const reply = await fetch(`${prometheus}/api/v1/query?${new URLSearchParams({ query })}`)
    return ((await reply.json()) as { error?: string }).error
  }
  const someOf = (query: string) =>
    until(
      () => ask(query),
      (value) => (value ?? 0) > 0,
    )

  before(async () => {
    const [management = 0, port = 0] = await freePorts(2)
    suite = await startSuite(shared, { SUITE_MANAGEMENT_PORT: String(management) })
    writeFileSync(join(suite.folder, 'last-backup.json'), JSON.stringify(BACKUP_RECORD))
    metricsUrl = `http://127.0.0.1:${management}/actuator/prometheus`
    prometheus = await startPrometheus(shared, port, management)
    await until(
      () => ask('up{job="plinth"}'),
      (up) => up === 1,
    )
    await driveTraffic(suite.urlOf)
  })

  test('knows the rates of logins, uploads and payments', async () => {
    await someOf('sum(rate(plinth_logins_total{result="accepted"}[1m]))')
    await someOf('sum(rate(plinth_logins_total{result="refused"}[1m]))')
    await someOf('sum(rate(plinth_uploads_total{service="storage-full",result="accepted"}[1m]))')
    await someOf('sum(rate(plinth_uploads_total{service="storage-key",result="accepted"}[1m]))')
    await someOf('sum(rate(plinth_upload_bytes_total[1m]))')
    await someOf('sum(rate(plinth_checkouts_total{result="accepted"}[1m]))')
    await someOf('sum(rate(plinth_payments_total{status="PAID"}[1m]))')
    await someOf('sum(rate(plinth_webhooks_total{result="accepted"}[1m]))')
  })

  test('knows whether each service is ready, and the time of its clock', async () => {
    assert.equal(await ask('count(plinth_ready == 1)'), 6)
    const off = 'abs(plinth_clock_timestamp_seconds - timestamp(plinth_clock_timestamp_seconds))'
    assert.ok(((await ask(off)) ?? 60) < 30)
  })

  test('knows how long requests and calls to the provider take', async () => {
    const p99 = 'histogram_quantile(0.99, sum by (le) (rate'
    // A rate needs an increase between two scrapes, so requests continue while it is queried.
    await until(
      async () => {
        await fetch(`${suite.urlOf('identity')}/api/users/me`)
        return ask(`${p99}(http_server_request_duration_seconds_bucket[1m])))`)
      },
      (value) => (value ?? 0) > 0,
    )
    await someOf(
      `${p99}(plinth_provider_request_duration_seconds_bucket{operation="createSession"}[1m])))`,
    )
  })

  test('finds no fault with the names and help texts of the metrics', async () => {
    const found = await runPromtool(['check', 'metrics'], await scrape(metricsUrl))
    assert.deepEqual(found, { exitCode: 0, output: '' })
  })

  test('accepts the rules and the configurations we ship', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'plinth-prometheus-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const compose = readFileSync(join(OBSERVE, '../../compose.yaml'), 'utf8')
    const [, inline = ''] =
      /^ {2}prometheus:\n {4}content: \|\n((?: {6}.*\n)+)/m.exec(compose) ?? []
    cpSync(join(OBSERVE, 'rules.yml'), join(folder, 'rules.yml'))
    writeFileSync(join(folder, 'token'), 'a token of twenty characters')
    writeFileSync(
      join(folder, 'compose.yml'),
      inline.replace(/^ {6}/gm, '').replace('/run/secrets/metrics-token', join(folder, 'token')),
    )

    assert.match(inline, /targets: \['plinth:9464'\]/)
    for (const file of [join(OBSERVE, 'prometheus.yml'), join(folder, 'compose.yml')]) {
      const { exitCode, output } = await runPromtool(['check', 'config', file])
      assert.equal(exitCode, 0, output)
    }
  })

  test('fires each alert when it should', async () => {
    const { exitCode, output } = await runPromtool([
      'test',
      'rules',
      join(OBSERVE, 'rules.test.yml'),
    ])
    assert.equal(exitCode, 0, output)
  })

  test('can evaluate every query of a panel or a rule', async () => {
    const panels = globSync(join(OBSERVE, 'dashboards/*.json')).flatMap((file) => {
      const { panels } = JSON.parse(readFileSync(file, 'utf8')) as Dashboard
      return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    })
    const reply = await fetch(`${prometheus}/api/v1/rules`)
    const { data } = (await reply.json()) as { data: { groups: { rules: { query: string }[] }[] } }
    const rules = data.groups.flatMap((group) => group.rules.map(({ query }) => query))

    assert.ok(panels.length > 60 && rules.length > 20, `${panels.length}, ${rules.length}`)
    for (const query of [...panels, ...rules])
      assert.equal(await faultOf(query.replaceAll('$__rate_interval', '1m')), undefined, query)
  })

  test('has every metric that a panel or a rule uses', async () => {
    const known = new Set((await scrape(metricsUrl)).match(/^\w+/gm))
    // Only PostgreSQL has a pool, and this suite runs on SQLite.
    known.add('plinth_db_pool_connections')
    // Only a service with a mail server has this.
    known.add('plinth_mail_server_up')
    // Only a service with sign-in providers has these.
    for (const part of ['bucket', 'count']) known.add(`plinth_provider_call_seconds_${part}`)
    const files = globSync(join(OBSERVE, '**/*.{json,yml}'))
    const named = files.flatMap((file) => {
      const recorded = /^http_server_requests_seconds_(count|sum)$/
      const names = readFileSync(file, 'utf8').match(
        /\b(http_server|process|nodejs|plinth)_[a-z0-9_]+/g,
      )
      return (names ?? []).filter((name) => !recorded.test(name))
    })

    assert.ok(named.length > 50)
    assert.deepEqual(
      named.filter((name) => !known.has(name)),
      [],
    )
  })
})

async function scrape(url: string): Promise<string> {
  return (await fetch(url)).text()
}

async function runPromtool(args: string[], input = '') {
  const { path, env } = await promtool()
  const child = spawn(path, args, { env })
  child.stdin.end(input)
  const [[exitCode], ...output] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ])
  return { exitCode, output: output.join('') }
}

type Dashboard = { panels: { targets: { expr: string }[] }[] }

type Cleanup = { after(cleanup: () => Promise<void>): void }

/** Debian's Prometheus, configured as shipped except for the address and a shorter interval. */
async function startPrometheus(t: Cleanup, port: number, management: number): Promise<string> {
  const { path, env } = await debianProgram('prometheus')
  const folder = mkdtempSync(join(tmpdir(), 'plinth-prometheus-'))
  cpSync(join(OBSERVE, 'rules.yml'), join(folder, 'rules.yml'))
  const shipped = readFileSync(join(OBSERVE, 'prometheus.yml'), 'utf8')
  const configuration = shipped
    .replace('127.0.0.1:9464', `127.0.0.1:${management}`)
    .replace('scrape_interval: 15s', 'scrape_interval: 1s')
  writeFileSync(join(folder, 'prometheus.yml'), configuration)
  const child = spawn(
    path,
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { env, stdio: 'ignore' },
  )
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${port}`
  await until(
    () =>
      fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    (ready) => ready,
  )
  return url
}

async function driveTraffic(urlOf: (service: string) => string): Promise<void> {
  const identity = identityClient(urlOf('identity'))
  await identity.logIn('user', PASSWORD)
  await assert.rejects(identityClient(urlOf('identity')).logIn('user', 'not the password'))
  const storage = storageClient(urlOf('storage-full'))
  await storage.logIn('user', PASSWORD)
  const { id } = await storage.files.upload(PDF, 'a.pdf')
  await storage.files.thumbnail(id)
  await storageKeyClient(urlOf('storage-key'), 'storage-local-dev-key').files.upload(PDF, 'a.pdf')
  await takePayment(urlOf)
}
