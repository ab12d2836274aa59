/** What `plinth doctor` checks about this service. */
import { type Examined, type Finding, HOUR_MS, ok, skip } from '@plinth/kit/runtime'
import type { PaymentsConfig } from '../config.ts'
import type { Db } from '../payment/database/tables.ts'
import { findLastArrivals } from './arrivals.repository.ts'

const ANSWER_MS = 10_000
const WITHOUT_WEBHOOKS =
  'without webhooks a payment is noticed only by polling, up to a minute later'

export async function providerFindings(
  { production }: Examined,
  { secretKey, liveMode, webhookSecrets, settingNames }: PaymentsConfig,
): Promise<Finding[]> {
  if (!secretKey) return [skip('payments', 'no provider is configured: it answers 503')]
  if (webhookSecrets.length === 0)
    return [
      {
        check: 'payments',
        status: 'fail',
        seen: `${settingNames.secretKey} is set, but ${settingNames.webhookSecret} is not`,
        expected: 'both',
        why: WITHOUT_WEBHOOKS,
        fix: `${settingNames.webhookSecret}=<the secret> in .env, from the webhooks page of the provider`,
      },
    ]
  if (production && liveMode === false)
    return [
      {
        check: 'payments',
        status: 'warn',
        seen: "one of the provider's test keys, in production",
        expected: 'a live key',
        why: 'no money moves',
        fix: `${settingNames.secretKey}=<a live key> in .env`,
      },
    ]
  return [ok('payments', 'a provider and its webhook secret are set')]
}

/** Payments also polls the provider for events: those it finds only that way show that webhooks do not arrive. */
export async function arrivalFindings(
  db: Db,
  _: Examined,
  { secretKey, webhookSecrets, settingNames }: PaymentsConfig,
): Promise<Finding[]> {
  if (!secretKey || webhookSecrets.length === 0) return []
  const { webhook, poll } = await findLastArrivals(db)
  const seen = webhook ? `the last webhook arrived at ${webhook}` : 'no webhook has arrived'
  const late = Date.parse(poll ?? '') - Date.parse(webhook ?? '1970-01-01')
  if (!(late > HOUR_MS)) return webhook ? [ok('payments', seen)] : []
  return [
    {
      check: 'payments',
      status: 'warn',
      seen: `${seen}, but polling found an event at ${poll}`,
      expected: 'a webhook for every event of the provider',
      why: WITHOUT_WEBHOOKS,
      fix: `add …/api/provider/webhook to the webhooks at the provider, and compare ${settingNames.webhookSecret}`,
    },
  ]
}

/** Sends a request like the provider's, but without a signature: payments itself must refuse it. */
export async function webhookFindings(
  { isRunning, isPublic }: Examined,
  { secretKey, publicUrl }: PaymentsConfig,
): Promise<Finding[]> {
  if (!secretKey) return []
  if (!isPublic) return [skip('webhook', 'no public address is set')]
  if (!isRunning) return [skip('webhook', 'payments is not running')]
  const url = `${publicUrl}/api/provider/webhook`
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
    redirect: 'manual',
    signal: AbortSignal.timeout(ANSWER_MS),
  }).catch((error: Error) => error)
  // A reply that is not JSON comes from another server, which the finding says.
  const body = reply instanceof Error ? undefined : await reply.json().catch(() => undefined)
  if ((body as { code?: string } | undefined)?.code === 'SIGNATURE_MISSING')
    return [ok('webhook', `${url} reaches payments`)]
  const answer =
    reply instanceof Error
      ? 'does not answer'
      : `answers with ${reply.status}, but it is not payments`
  return [
    {
      check: 'webhook',
      status: 'fail',
      seen: `${url} ${answer}`,
      expected: 'payments, which asks for the signature of the provider',
      why: WITHOUT_WEBHOOKS,
      fix: 'make the proxy forward POST requests for this address to payments, without a sign-in',
    },
  ]
}
