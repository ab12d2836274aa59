import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { cookieStore, identityClient, type TokenPair, webStore } from '@plinth/client'
import { ALICE, startWithAlice } from './start-identity.ts'

type Fetch = typeof fetch

/** Stands in for the `localStorage` that the tabs of a browser share. */
function sharedStorage() {
  const items = new Map<string, string>()
  return {
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, value: string) => void items.set(name, value),
    removeItem: (name: string) => void items.delete(name),
  }
}

/** Tabs of one browser that share a session of alice, and the statuses of the refreshes they send. */
async function openTabs(t: TestContext, { tabs = 10, send = fetch as Fetch } = {}) {
  const { baseUrl, clock, api } = await startWithAlice(t)
  const refreshes: number[] = []
  const counted: Fetch = async (url, init) => {
    const response = await send(url, init)
    if (String(url).endsWith('/refresh')) refreshes.push(response.status)
    return response
  }
  const storage = sharedStorage()
  let elapsed = 0
  const now = () => elapsed
  const clients = Array.from({ length: tabs }, () =>
    identityClient(baseUrl, { fetch: counted, store: webStore('s', storage), now }),
  )
  const [first] = clients
  assert.ok(first)
  await first.logIn(ALICE.username, ALICE.password)
  const advance = (seconds: number) => {
    clock.advance(seconds)
    elapsed += seconds * 1000
  }
  return { api, baseUrl, clients, first, clock, refreshes, storage, advance }
}

function withoutLocks(t: TestContext): void {
  const { navigator } = globalThis
  Object.defineProperty(navigator, 'locks', { value: undefined, configurable: true })
  t.after(() => Reflect.deleteProperty(navigator, 'locks'))
}

describe('ten tabs with one refresh token', () => {
  for (const early of ['before', 'after'])
    test(`send a single refresh ${early} the access token expires`, async (t) => {
      const { clients, refreshes, clock, advance } = await openTabs(t)
      if (early === 'before') advance(850)
      else clock.advance(900)

      const profiles = await Promise.all(clients.map((client) => client.account.get()))

      assert.deepEqual(new Set(profiles.map(({ username }) => username)), new Set(['alice']))
      assert.deepEqual(refreshes, [200])
    })

  test('stay signed in without locks, even though several refresh at once', async (t) => {
    withoutLocks(t)
    const { clients, refreshes, clock } = await openTabs(t)
    clock.advance(900)

    const profiles = await Promise.all(clients.map((client) => client.account.get()))

    assert.equal(profiles.length, 10)
    assert.equal(refreshes.filter((status) => status === 200).length, 1)
    assert.ok(clients.every(({ session }) => session.signedIn))
  })

  test('are all signed out by a logout in one of them', async (t) => {
    const { clients, first } = await openTabs(t)

    await first.logOut()

    assert.ok(clients.every(({ session }) => !session.signedIn))
    for (const client of clients) await assert.rejects(client.account.get(), { status: 401 })
  })
})

describe('an access token that is about to expire', () => {
  test('is refreshed before a request once less than a minute is left, not earlier', async (t) => {
    const { first, refreshes, advance } = await openTabs(t, { tabs: 1 })

    advance(839)
    await first.account.get()
    assert.deepEqual(refreshes, [])
    advance(1)
    await first.account.get()

    assert.deepEqual(refreshes, [200])
  })

  test('stays in use when the refresh fails, which is not retried at once', async (t) => {
    let tried = 0
    const down: Fetch = (url, init) => {
      if (!String(url).endsWith('/refresh')) return fetch(url, init)
      tried += 1
      return Promise.reject(new TypeError('no network'))
    }
    const { first, advance } = await openTabs(t, { tabs: 1, send: down })
    advance(850)

    for (const _ of [1, 2, 3]) assert.equal((await first.account.get()).username, 'alice')

    assert.equal(tried, 1)
    assert.equal(first.session.signedIn, true)
  })

  test('is refreshed for other services too', async (t) => {
    const { first, advance } = await openTabs(t, { tabs: 1 })
    const before = first.session.pair?.accessToken
    assert.equal(await first.session.accessToken(), before)
    advance(850)

    assert.notEqual(await first.session.accessToken(), before)
  })
})

test('a failed connection never signs the client out', async (t) => {
  const cut: Fetch = (url, init) =>
    String(url).endsWith('/refresh') ? Promise.reject(new TypeError('cut')) : fetch(url, init)
  const { first, clock } = await openTabs(t, { tabs: 1, send: cut })
  clock.advance(900)

  await assert.rejects(first.account.get(), { name: 'ConnectionError' })

  assert.equal(first.session.signedIn, true)
})

test('a refresh during which the client is signed out stores nothing and ends its session', async (t) => {
  let issued: TokenPair | undefined
  const signedOut: Fetch = async (url, init) => {
    const response = await fetch(url, init)
    if (!String(url).endsWith('/refresh')) return response
    issued = (await response.clone().json()) as TokenPair
    storage.removeItem('s')
    return response
  }
  const { api, first, storage } = await openTabs(t, { tabs: 1, send: signedOut })

  await first.session.refresh()

  assert.equal(first.session.signedIn, false)
  const again = await api.post('/api/auth/refresh', { refreshToken: issued?.refreshToken })
  assert.equal(again.status, 401)
})

describe('ending the own session when the reply is lost', () => {
  /** Cuts the connection after the service has answered the first deletion. */
  function loseFirstReply(): { send: Fetch; deletions: number[] } {
    const deletions: number[] = []
    const send: Fetch = async (url, init) => {
      const response = await fetch(url, init)
      if (init?.method !== 'DELETE') return response
      deletions.push(response.status)
      if (deletions.length === 1) throw new TypeError('cut')
      return response
    }
    return { send, deletions }
  }

  test('succeeds, although the repeated request is 401', async (t) => {
    const { send, deletions } = loseFirstReply()
    const { first } = await openTabs(t, { tabs: 1, send })
    const own = (await first.sessions.list()).find(({ current }) => current)

    await first.sessions.end(own?.id ?? 0)

    assert.deepEqual(deletions, [204, 401])
    assert.equal(first.session.signedIn, false)
  })

  test('is not mistaken for ending another session while the own one ends', async (t) => {
    const deletions: number[] = []
    const { first, baseUrl } = await openTabs(t, {
      tabs: 1,
      send: async (url, init) => {
        if (init?.method !== 'DELETE') return fetch(url, init)
        if (deletions.push(0) === 1) {
          await elsewhere.sessions.end(own?.id ?? 0)
          throw new TypeError('cut')
        }
        return fetch(url, init)
      },
    })
    const elsewhere = identityClient(baseUrl)
    await elsewhere.logIn(ALICE.username, ALICE.password)
    const sessions = await first.sessions.list()
    const own = sessions.find(({ current }) => current)
    const other = sessions.find(({ current }) => !current)

    await assert.rejects(first.sessions.end(other?.id ?? 0), { status: 401 })

    assert.equal((await elsewhere.account.get()).username, ALICE.username)
  })
})

test('listeners are notified after a change is stored, until dispose()', async (t) => {
  const { first, storage } = await openTabs(t, { tabs: 1 })
  const heard: [string | undefined, boolean][] = []
  const { mock } = t.mock.method(console, 'error', () => {})
  first.session.onChange(() => {
    throw new Error('a listener fails')
  })
  first.session.onChange((pair) => {
    heard.push([
      pair?.refreshToken,
      storage.getItem('s')?.includes(pair?.refreshToken ?? '-') ?? false,
    ])
  })

  const { refreshToken } = await first.session.refresh()
  await first.logOut()
  first.session.dispose()
  await first.logIn(ALICE.username, ALICE.password)

  assert.deepEqual(heard, [
    [refreshToken, true],
    [undefined, false],
  ])
  assert.equal(mock.callCount(), 2)
})

test('a long call starts with a token that is valid for at least 5 more minutes', async (t) => {
  const { first, refreshes, advance } = await openTabs(t, { tabs: 1 })
  const upload = () => first.session.send('GET', '/api/users/me', {}, 300_000)

  advance(590)
  await upload()
  assert.deepEqual(refreshes, [])
  advance(20)
  await upload()
  assert.deepEqual(refreshes, [200])
})

test('a server keeps the session in a cookie that scripts cannot read', async (t) => {
  const { baseUrl } = await startWithAlice(t)
  const cookies = new Map<string, string>()
  const written: object[] = []
  const jar = {
    get: (name: string) => cookies.get(name),
    set: (name: string, value: string, attributes: object) => {
      cookies.set(name, value)
      written.push(attributes)
    },
  }
  await identityClient(baseUrl, { store: cookieStore(jar) }).logIn(ALICE.username, ALICE.password)

  const nextRequest = identityClient(baseUrl, { store: cookieStore(jar) })

  assert.equal((await nextRequest.account.get()).username, 'alice')
  assert.doesNotMatch([...cookies.values()].join(), /[;," ]/)
  const attributes = { httpOnly: true, secure: true, sameSite: 'lax', path: '/', maxAge: 1_209_600 }
  assert.deepEqual(written, [attributes])
  await nextRequest.logOut()
  assert.deepEqual([...cookies.values()], [''])
})

test('malformed stored data is not taken for a session', async (t) => {
  const { baseUrl } = await startWithAlice(t)
  const storage = sharedStorage()
  for (const text of ['{', '"text"', 'null', '{"accessToken":1}']) {
    storage.setItem('s', text)

    const client = identityClient(baseUrl, { store: webStore('s', storage) })

    assert.equal(client.session.signedIn, false)
  }
})
