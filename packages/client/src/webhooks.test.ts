import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { verifyWebhook, type WebhookFault } from './webhooks.ts'

const NOW = 1_900_000_000
const BODY = '{"id":"evt_1","type":"payment.paid","data":{"name":"Zoë ☕"}}'
const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`

/** A delivery, signed by the standard's own library. */
function delivery({ secret = newSecret(), id = 'msg_1', at = NOW, body = BODY } = {}) {
  const signature = new Webhook(secret).sign(id, new Date(at * 1000), body)
  const headers: Record<string, string> = {
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': signature,
  }
  return { secrets: secret, headers, body, now: () => NOW }
}

const refusedWith = (code: WebhookFault) => ({ name: 'WebhookError', code })

describe('verifyWebhook', () => {
  test('returns the event that the reference library signed, as text or as bytes', async () => {
    const given = delivery()

    const fromText = await verifyWebhook(given)
    const fromBytes = await verifyWebhook({ ...given, body: Buffer.from(BODY) })

    assert.deepEqual([fromText, fromBytes], [JSON.parse(BODY), JSON.parse(BODY)])
  })

  test('reads Headers, and objects with names in any case', async () => {
    const given = delivery()
    const upper = Object.entries(given.headers).map(([name, value]) => [name.toUpperCase(), value])

    await verifyWebhook({ ...given, headers: new Headers(given.headers) })
    await verifyWebhook({ ...given, headers: Object.fromEntries(upper) })
  })

  test('tries every secret and every v1 signature, as in a rotation', async () => {
    const given = delivery()
    const other = delivery()
    const signature = `v1a,ignored v1,not-base64 ${other.headers['webhook-signature']} ${given.headers['webhook-signature']}`
    const headers = { ...given.headers, 'webhook-signature': signature }

    await verifyWebhook({ ...given, headers, secrets: [newSecret(), given.secrets] })
  })

  test('refuses another body, id, time or secret', async () => {
    const given = delivery()
    const changed = [
      { ...given, body: `${BODY} ` },
      { ...given, headers: { ...given.headers, 'webhook-id': 'msg_2' } },
      { ...given, headers: { ...given.headers, 'webhook-timestamp': String(NOW + 1) } },
      { ...given, secrets: newSecret() },
      { ...given, secrets: [] },
    ]

    for (const one of changed) await assert.rejects(verifyWebhook(one), refusedWith('NO_MATCH'))
  })

  test('refuses a signature that is too old or too far in the future', async () => {
    await verifyWebhook(delivery({ at: NOW - 300 }))
    await verifyWebhook(delivery({ at: NOW + 300 }))
    await assert.rejects(verifyWebhook(delivery({ at: NOW - 301 })), refusedWith('TOO_OLD'))
    await assert.rejects(verifyWebhook(delivery({ at: NOW + 301 })), refusedWith('TOO_NEW'))
    const patient = { ...delivery({ at: NOW - 301 }), toleranceSeconds: 600 }
    await verifyWebhook(patient)
  })

  test('refuses a timestamp that is not all digits', async () => {
    const given = delivery()
    for (const text of [`${NOW}x`, `${NOW}.5`, '1e9', ' 1', '-1']) {
      const headers = { ...given.headers, 'webhook-timestamp': text }
      await assert.rejects(verifyWebhook({ ...given, headers }), refusedWith('BAD_TIMESTAMP'))
    }
  })

  test('names the header that is missing', async () => {
    const given = delivery()
    for (const name of Object.keys(given.headers)) {
      const { [name]: _, ...headers } = given.headers
      const refused = {
        ...refusedWith('MISSING_HEADER'),
        message: `The webhook has no header ${name}`,
      }
      await assert.rejects(verifyWebhook({ ...given, headers }), refused)
    }
  })

  test('says what to do about a parsed body', async () => {
    const parsed = { ...delivery(), body: JSON.parse(BODY) }

    await assert.rejects(verifyWebhook(parsed), /express\.raw/)
  })

  test('says so when the secret is missing or is not one', async () => {
    for (const secrets of [process.env.NO_SUCH_SECRET as string, '', 'whsec_', 'whsec_!', ['']])
      await assert.rejects(verifyWebhook({ ...delivery(), secrets }), {
        name: 'TypeError',
        message: 'A webhook secret must be whsec_ followed by base64',
      })
  })

  test('uses the current time by default', async () => {
    const { now: _, ...given } = delivery({ at: Math.floor(Date.now() / 1000) })

    await verifyWebhook(given)
  })
})
