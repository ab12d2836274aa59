import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { identityClient } from '@plinth/client'
import { apiFor } from '@plinth/kit/testing'
import { suiteCleanup } from '../../test/suite-cleanup.ts'
import { OWN_QUEUES, type Point, SHARED_QUEUES } from '../stack/health/history.ts'
import { FIGURES } from '../stack/home/activity.ts'
import { type Stack, startStack } from '../stack/stack.ts'
import { checkedServices } from './checked-services.ts'
import { testEnv } from './test-env.ts'

const PASSWORD = 'password123123'

type Figures = {
  intervals: { signIns: number; newUsers: number; storedBytes: number | null }[]
  health: { service: string; status: string }[]
}
type Request = { service: string; method: string; route: string; status: number; who?: string }

describe('the home of administrators on the landing page', () => {
  let stack: Stack
  let landing: ReturnType<typeof apiFor>
  let identityUrl: string
  let admin: string
  let user: string

  const scope = suiteCleanup()

  before(async () => {
    const { env } = await testEnv(scope)
    stack = await startStack({ env, only: checkedServices(scope) })
    scope.after(() => stack.close())
    landing = apiFor(stack.landingUrl)
    identityUrl = stack.services.find(({ entry }) => entry.name === 'identity')?.url ?? ''
    admin = (await identityClient(identityUrl).logIn('admin', PASSWORD)).accessToken
    user = (await identityClient(identityUrl).logIn('user', PASSWORD)).accessToken
  })

  for (const path of ['/api/home', '/api/requests'])
    test(`${path} is for administrators only, and never cached`, async () => {
      assert.equal((await landing.get(path)).status, 401)
      assert.equal((await landing.get(path, { token: 'nonsense' })).status, 401)
      assert.equal((await landing.get(path, { token: user })).status, 403)

      const shown = await landing.get(path, { token: admin })

      assert.equal(shown.status, 200)
      assert.equal(shown.headers.get('cache-control'), 'no-store')
    })

  test('counts sign-ins and new users, and shows the health of every service', async () => {
    const before = await latest()
    const client = identityClient(identityUrl)
    await client.register({ username: 'ada', email: 'ada@localhost', password: PASSWORD })
    await client.logIn('ada', PASSWORD)

    const { body } = await landing.get('/api/home', { token: admin })

    const { intervals, health } = body as Figures
    assert.equal(intervals.at(-1)?.signIns, before.signIns + 1)
    assert.equal(intervals.at(-1)?.newUsers, before.newUsers + 1)
    assert.deepEqual(
      health.map(({ status }) => status),
      ['UP', 'UP', 'UP', 'UP', 'UP'],
    )
  })

  test('each of its figures is the sum of counters that the services have', async () => {
    const families = await Promise.all(stack.services.map(({ server }) => server.metrics.read()))
    const counters = families.flat().filter((family) => family.type !== 'histogram')

    const { body } = await landing.get('/api/home', { token: admin })

    for (const { metric, label, counts } of Object.values(FIGURES).flat()) {
      const series = counters.flatMap(({ name, samples }) => (name === metric ? samples : []))
      const isCounted = series.some(({ labels }) => label in labels && counts(labels[label]))
      assert.ok(isCounted, `${metric} by ${label}`)
    }
    assert.equal(typeof (body as Figures).intervals.at(-1)?.storedBytes, 'number')
  })

  test('each line of the Health page is a metric that the services have', async () => {
    const points: Point[] = (await landing.get('/api/history')).body

    const { queues = {}, disks = {} } = points.at(-1) ?? {}
    const named = Object.values({ ...OWN_QUEUES, ...SHARED_QUEUES })
    assert.deepEqual(Object.keys(queues).sort(), named.sort())
    assert.ok(Object.keys(disks).length > 0)
    for (const [name, { freeBytes, sizeBytes }] of Object.entries(disks))
      assert.ok(freeBytes > 0 && sizeBytes > 0, name)
    assert.ok(points.some(({ services }) => (services.identity?.rate ?? 0) > 0))
  })

  test('lists requests by their route and caller, without paths, queries or secrets', async () => {
    const secret = 'not-to-be-seen'
    await apiFor(identityUrl).get(`/api/users/1?reset=${secret}`, { token: admin })
    await apiFor(identityUrl).get(`/${secret}`)

    const { body } = await landing.get('/api/requests', { token: admin })

    const asked = (body as Request[]).find(({ route }) => route === '/api/users/{id}')
    assert.deepEqual(
      [asked?.service, asked?.method, asked?.status, asked?.who],
      ['identity', 'GET', 200, 'admin'],
    )
    assert.ok((body as Request[]).some(({ status }) => status === 404))
    assert.doesNotMatch(JSON.stringify(body), new RegExp(`${secret}|${PASSWORD}|eyJ`))
    assert.ok((body as Request[]).length <= 200)
  })

  test('what the page asks by itself is not in the list of requests', async () => {
    await landing.get('/api/home', { token: admin })
    await apiFor(identityUrl).get('/api/users/me', { token: user })

    const { body } = await landing.get('/api/requests', { token: admin })

    const asked = (body as Request[]).filter(({ route }) => route === '/api/users/me')
    assert.deepEqual(
      asked.map(({ who }) => who),
      ['user'],
    )
  })

  test('a page that stays open does not push out the last requests', async () => {
    await apiFor(identityUrl).get('/api/users/999999', { token: admin })
    const own = ['/api/home', '/api/requests']
    for (let asked = 0; asked < 110; asked++)
      await Promise.all(own.map((path) => landing.get(path, { token: admin })))

    const { body } = await landing.get('/api/requests', { token: admin })

    const missing = (body as Request[]).filter(({ status }) => status === 404)
    assert.equal(missing[0]?.route, '/api/users/{id}')
  })

  test('the services name their reference, the account page and the inbox for development', async () => {
    const { body } = await landing.get('/api/services')

    const pages = (body as { name: string; pages: { title: string; href: string }[] }[]).flatMap(
      ({ name, pages }) => pages.map(({ title, href }) => ({ name, title, href })),
    )
    const titles = pages.filter(({ name }) => name === 'identity').map(({ title }) => title)
    assert.deepEqual(titles, ['API reference', 'Your account', 'Inbox for development'])
    for (const { title, href } of pages) assert.equal((await fetch(href)).status, 200, title)
  })

  async function latest() {
    const { body } = await landing.get('/api/home', { token: admin })
    return (body as Figures).intervals.at(-1) ?? { signIns: 0, newUsers: 0 }
  }
})
