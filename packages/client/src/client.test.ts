import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { identityClient, paymentsClient, type WebhookEvent } from './index.ts'

type Seen = { url: URL; init: RequestInit }

/** A client whose calls get these replies, one after the other. */
function answering(...replies: unknown[]) {
  const seen: Seen[] = []
  const send: typeof fetch = async (url, init = {}) => {
    seen.push({ url: new URL(String(url)), init })
    init.signal?.throwIfAborted()
    return Response.json(replies[seen.length - 1] ?? {})
  }
  return { seen, options: { fetch: send, retries: 0 } }
}

const EVENT = { id: 'evt_1', type: 'ping', data: {} }

describe('a list', () => {
  test('is one page when it is awaited', async () => {
    const { seen, options } = answering({ items: [EVENT], next: 'evt_1' })

    const { items, next } = await paymentsClient('http://localhost', options).events.list()

    assert.deepEqual([items.length, next, seen.length], [1, 'evt_1', 1])
  })

  test('goes on from cursor to cursor in `for await`, with the query of the first page', async () => {
    const second = { ...EVENT, id: 'evt_2' }
    const { seen, options } = answering(
      { items: [EVENT], next: 'evt_1' },
      { items: [second], next: null },
    )
    const payments = paymentsClient('http://localhost', options)

    const events: WebhookEvent[] = await Array.fromAsync(payments.events.list({ types: 'ping' }))

    assert.deepEqual(
      events.map(({ id }) => id),
      ['evt_1', 'evt_2'],
    )
    assert.deepEqual(
      seen.map(({ url }) => url.search),
      ['?types=ping', '?types=ping&after=evt_1'],
    )
  })

  test('goes on from page to page where there is no cursor', async () => {
    const user = (id: number) => ({ id, username: `user-${id}` })
    const { seen, options } = answering(
      { content: [user(1)], number: 0, last: false },
      { content: [user(2)], number: 1, last: true },
    )

    const users = await Array.fromAsync(identityClient('http://localhost', options).users.list())

    assert.deepEqual(
      users.map(({ id }) => id),
      [1, 2],
    )
    assert.deepEqual(
      seen.map(({ url }) => url.search),
      ['', '?page=1'],
    )
  })
})

describe('the options of a call', () => {
  test('add headers, but replace none of its own', async () => {
    const { seen, options } = answering()
    const headers = { Traceparent: '00-1', 'Idempotency-Key': 'theirs' }

    await paymentsClient('http://localhost', options).customers.create(
      { email: 'ada@example.com' },
      'ours',
      { headers },
    )

    const sent = new Headers(seen[0]?.init.headers)
    assert.deepEqual([sent.get('traceparent'), sent.get('idempotency-key')], ['00-1', 'ours'])
  })

  test('cancel it', async () => {
    const { seen, options } = answering()
    const reason = new Error('changed my mind')
    const signal = AbortSignal.abort(reason)

    await assert.rejects(
      identityClient('http://localhost', options).account.get({ signal }),
      reason,
    )

    assert.equal(seen.length, 0)
  })

  test('limit its time', async () => {
    const silence: typeof fetch = (_url, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject()))
    const identity = identityClient('http://localhost', { fetch: silence })

    await assert.rejects(identity.operations.index({ timeoutMs: 1 }), { name: 'TimeoutError' })
  })
})

test('a session adopts a token pair from elsewhere, and forgets it', async () => {
  const { seen, options } = answering()
  const identity = identityClient('http://localhost', options)
  const told: boolean[] = []
  identity.session.onChange((pair) => told.push(pair !== undefined))

  identity.session.adopt({
    accessToken: 'a',
    refreshToken: 'r',
    tokenType: 'Bearer',
    expiresInSeconds: 900,
    refreshTokenExpiresInSeconds: 9000,
  })
  await identity.account.get()
  identity.session.forget()

  assert.equal(new Headers(seen[0]?.init.headers).get('authorization'), 'Bearer a')
  assert.deepEqual(told, [true, false])
  assert.equal(identity.session.signedIn, false)
})

test('a problem has one of the codes of its service', async () => {
  const refuse: typeof fetch = async () =>
    Response.json({ code: 'USER_NOT_FOUND' }, { status: 404 })
  const identity = identityClient('http://localhost', { fetch: refuse })

  const error: unknown = await identity.users.get(7).catch((refusal) => refusal)

  assert.ok(identity.isProblem(error))
  assert.equal(error.code === 'USER_NOT_FOUND' && error.status, 404)
  // @ts-expect-error No such code.
  assert.equal(error.code === 'USER_NOT_FUND', false)
  assert.equal(identity.isProblem(new Error('something else')), false)
})
