import assert from 'node:assert/strict'
import type { Api, ApiReply } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'

export type Sandbox = ReturnType<typeof sandboxAt>

type Fault = {
  kind: string
  route?: string
  times?: number | null
  delayMs?: number
  retryAfterSeconds?: number
}

/** The sandbox's controls: what customers, banks and accidents do. */
export function sandboxAt(api: Api, baseUrl: string) {
  const act = async (path: string, body: object = {}) =>
    ok(await api.post(`/sandbox/api${path}`, body))
  const read = async (path: string) => ok(await api.get(`/sandbox/api${path}`))
  return {
    api,
    baseUrl,
    sendWebhooksTo: (url: string, secret: string) =>
      act('/webhook-endpoints', { url: `${url}/api/provider/webhook`, secret }),
    pay: (sessionId: string, card?: string) => act(`/sessions/${sessionId}/pay`, { card }),
    decline: (sessionId: string) => act(`/sessions/${sessionId}/decline`),
    debit: (sessionId: string) =>
      act(`/sessions/${sessionId}/bank-debit`, { delaySeconds: 10 ** 6 }),
    settle: (sessionId: string) => act(`/sessions/${sessionId}/settle`),
    fail: (sessionId: string) => act(`/sessions/${sessionId}/fail`),
    expire: (sessionId: string) => act(`/sessions/${sessionId}/expire`),
    succeedRefund: (id: string) => act(`/refunds/${id}/succeed`),
    failRefund: (id: string) => act(`/refunds/${id}/fail`),
    cancelRefund: (id: string) => act(`/refunds/${id}/cancel`),
    fault: (fault: Fault) => act('/faults', fault),
    faults: async (): Promise<object[]> => (await read('/faults')).faults,
    /** Waits until every fault that was set has struck. */
    struck: () =>
      until(
        async (): Promise<object[]> => (await read('/faults')).faults,
        (faults) => faults.length === 0,
        5,
      ),
    release: () => act('/faults/release'),
    clearFaults: () => api.delete('/sandbox/api/faults'),
    switch: async (switches: object) => ok(await api.patch('/sandbox/api/switches', switches)),
    forgetKeys: () => api.delete('/sandbox/api/idempotency-keys'),
    forge: (event: object) => act('/events', event),
    /** Waits until everything that is due has been delivered. */
    flush: () => act('/deliveries/flush'),
    events: () => read('/events'),
    sessions: () => read('/sessions'),
    refunds: () => read('/refunds'),
    requests: () => read('/requests'),
    books: () => read('/books'),
    sessionsBy: (entry: string) => read(`/books/sessions?by=${entry}`),
    /** Does what the button in the provider's dashboard does. */
    dashboardRefund: (paymentIntent: string, amount: number) =>
      api.request('POST', '/v1/refunds', {
        token: 'sk_test_sandbox',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({
          payment_intent: paymentIntent,
          amount: String(amount),
        }).toString(),
      }),
  }
}

function ok({ status, body }: ApiReply) {
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`)
  return body
}
