import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { apiFor } from '@plinth/kit/testing'
import { until } from '../../test/until.ts'
import { startStack } from '../stack/stack.ts'
import { checkedServices } from './checked-services.ts'
import { testEnv } from './test-env.ts'

type Listed = { name: string; version: string; healthy: boolean; url: string; consoleUrl: string }

type Link = { href: string }
type Catalogued = { 'service-desc': Link[]; 'service-doc': Link[] }

describe('the landing page', () => {
  test('is public HTML under a strict policy', async (t) => {
    const { landing } = await start(t)

    const page = await landing.get('/')

    assert.equal(page.status, 200)
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  })

  test('links to a working console for every service', async (t) => {
    const { landing } = await start(t)

    const { body } = await landing.get('/api/services')

    for (const { name, consoleUrl } of body as Listed[])
      assert.equal((await fetch(consoleUrl)).status, 200, name)
  })

  test('lists addresses that redirect a browser to a console and give a program an index', async (t) => {
    const { landing } = await start(t)

    const { body } = await landing.get('/api/services')

    for (const { name, url } of body as Listed[]) {
      const page = await fetch(url, { headers: { accept: 'text/html,*/*;q=0.8' } })
      const index = (await (await fetch(url)).json()) as { name: string }
      assert.deepEqual([page.status, page.redirected, index.name], [200, true, name])
    }
  })

  test('lists the version that each service reports, which is not that of its package', async (t) => {
    const { landing } = await start(t)

    const { body } = await landing.get('/api/services')

    const listed = Object.fromEntries(
      (body as Listed[]).map(({ name, version }) => [name, version]),
    )
    for (const { name, version, url } of body as Listed[]) {
      const index = (await (await fetch(url)).json()) as { version: string }
      assert.equal(version, index.version, name)
    }
    assert.deepEqual(listed, {
      identity: '2.0.0',
      'storage-full': '2.0.0',
      'storage-key': '2.0.0',
      payments: '1.0.0',
      'provider-sandbox': '1.0.0',
    })
  })

  test('has an API catalog with the API document of each service', async (t) => {
    const { landing } = await start(t)

    const { body, headers } = await landing.get('/.well-known/api-catalog')

    assert.match(
      headers.get('content-type') ?? '',
      /^application\/linkset\+json; profile=.*rfc9727/,
    )
    const titles: string[] = []
    for (const {
      'service-desc': documents,
      'service-doc': pages,
    } of body.linkset as Catalogued[]) {
      const document = await (await fetch(documents[0]?.href ?? '')).json()
      titles.push((document as { info: { title: string } }).info.title)
      assert.equal((await fetch(pages[0]?.href ?? '')).status, 200)
    }
    assert.equal(new Set(titles).size, 4)
  })

  test('shows which service has stopped answering', async (t) => {
    const { landing, stack } = await start(t)
    await stack.services.find(({ entry }) => entry.name === 'storage-key')?.server.close()

    const { body } = await landing.get('/api/services')

    const unhealthy = (body as Listed[]).filter(({ healthy }) => !healthy)
    assert.deepEqual(
      unhealthy.map(({ name }) => name),
      ['storage-key'],
    )
  })

  test('answers Kubernetes probes: while draining it is not ready but still serves', {
    tags: ['all'],
  }, async (t) => {
    const { landing, stack } = await start(t, { SUITE_DRAIN_SECONDS: '1' })
    const manifest = readFileSync(`${import.meta.dirname}/../../deploy/kubernetes.yaml`, 'utf8')
    const probes = [...manifest.matchAll(/(\w+)Probe:\n\s+httpGet: \{ path: (\S+), port: http \}/g)]
    const ask = async () => {
      const asked = probes.map(async ([, name, path = '']) => [
        name,
        (await landing.get(path)).status,
      ])
      return Object.fromEntries(await Promise.all(asked))
    }

    const before = await ask()
    const closed = stack.close()
    const draining = await ask()
    const page = await landing.get('/')
    await closed

    assert.deepEqual(before, { startup: 200, liveness: 200, readiness: 200 })
    assert.deepEqual(draining, { startup: 200, liveness: 200, readiness: 503 })
    assert.equal(page.status, 200)
  })

  test('keeps serving a service for its own drain time', { tags: ['all'] }, async (t) => {
    const { stack } = await start(t, { PAYMENTS_DRAIN_SECONDS: '2' })
    const urlOf = (name: string) =>
      stack.services.find(({ entry }) => entry.name === name)?.url ?? ''
    const isGone = (name: string) =>
      fetch(urlOf(name)).then(
        () => false,
        () => true,
      )

    const closed = stack.close()
    await until(() => isGone('storage-key'), Boolean)
    const readiness = await fetch(`${urlOf('payments')}/actuator/health/readiness`)
    await closed

    assert.equal(readiness.status, 503)
    assert.equal(await isGone('payments'), true)
  })

  test('has the Health page and its data, unless other machines can reach it', async (t) => {
    const { landing } = await start(t)
    const { landing: reachable } = await start(t, { SUITE_PUBLIC_URL: 'https://app.example' })

    await landing.get('/api/services')
    const { status, body } = await landing.get('/api/history')
    const [point] = body as { services: Record<string, { rate: number }> }[]
    assert.equal(status, 200)
    assert.ok((point?.services.landing?.rate ?? 0) > 0)
    assert.equal((await landing.get('/health/index.html')).status, 200)
    assert.equal((await landing.get('/actuator/health/backup')).body.status, 'UNKNOWN')
    for (const path of ['/api/history', '/health/index.html', '/actuator/health/backup'])
      assert.equal((await reachable.get(path)).status, 404, path)
  })
})

async function start(t: TestContext, settings: Record<string, string> = {}) {
  const { env } = await testEnv(t, settings)
  const stack = await startStack({ env, only: checkedServices(t) })
  t.after(() => stack.close())
  return { stack, landing: apiFor(stack.landingUrl) }
}
