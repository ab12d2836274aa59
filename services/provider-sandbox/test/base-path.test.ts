import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { orderOf } from './orders.ts'
import { startSandbox } from './start-sandbox.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

describe('the sandbox at a public URL with a path', () => {
  for (const [proxy, base] of [
    ['strips it', ''],
    ['does not strip it', '/provider'],
  ] as const)
    test(`has its hosted page behind a proxy that ${proxy}`, async (t) => {
      const { api, stripe } = await startSandbox(t, {
        SANDBOX_PUBLIC_URL: 'https://app.example/provider',
      })
      const session = await stripe.checkout.sessions.create(orderOf(1050))
      const post = (path: string, fields: Record<string, string>) =>
        api.request('POST', `${base}${path}`, {
          headers: FORM,
          body: new URLSearchParams(fields).toString(),
        })

      const page = await api.get(`${base}/pay/${session.id}`)
      const card = { number: '4000 0025 0000 3155', expiry: '12/60', cvc: '123' }
      const asked = await post(`/pay/${session.id}/card`, card)
      const challenge = await api.get(`${base}/pay/${session.id}`)
      const paid = await post(`/pay/${session.id}/challenge`, { accepted: 'true' })

      const here = `/provider/pay/${session.id}`
      assert.equal(session.url, `https://app.example${here}`)
      assert.deepEqual(addressesIn(page.body), [
        '/provider/sandbox/page.css',
        `${here}/card`,
        `${here}/bank`,
        `${here}/expire`,
      ])
      assert.deepEqual([asked.status, asked.headers.get('location')], [303, here])
      assert.deepEqual(addressesIn(challenge.body), [
        '/provider/sandbox/page.css',
        `${here}/challenge`,
      ])
      assert.equal(paid.headers.get('location'), `http://localhost:9/success?session=${session.id}`)
    })

  test('redirects to its controls below that path', async (t) => {
    const { api } = await startSandbox(t, { SANDBOX_PUBLIC_URL: 'https://app.example/provider' })

    const browser = { headers: { accept: 'text/html' } }
    for (const path of ['', '/', '/provider', '/provider/'])
      assert.equal(
        (await api.get(path, browser)).headers.get('location'),
        '/provider/sandbox/',
        path,
      )
    for (const path of ['/sandbox', '/provider/sandbox'])
      assert.equal(
        (await api.get(path)).headers.get('location'),
        '/provider/sandbox/index.html',
        path,
      )
  })
})

/** What the page loads from this server and where its forms post to. */
function addressesIn(page: string): string[] {
  return [...page.matchAll(/(?:href|src|action)="(\/[^"]*)"/g)].map(([, address = '']) => address)
}
