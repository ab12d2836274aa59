/** External services: the payment provider and the mail server. */
import type { IdentityConfig } from '@plinth/identity'
import type { Prepared } from '../../../launcher/stack/prepare.ts'
import { type Check, configOf, type Finding, type Installation, ok, skip } from './finding.ts'
import { readDatabase } from './stores/read-database.ts'

const ANSWER_MS = 10_000
const WITHOUT_WEBHOOKS =
  'without webhooks a payment is noticed only by polling, up to a minute later'

const named = ({ prepared }: Installation, name: string) =>
  prepared.find(({ entry }) => entry.name === name)

const payments: Check = async (installation) => {
  const { production } = installation
  const found = named(installation, 'payments')
  if (!found) return []
  const { secretKey, webhookSecrets = [] } = configOf(found)
  if (!secretKey) return [skip('payments', 'no provider is configured: it answers 503')]
  if (webhookSecrets.length === 0)
    return [
      {
        check: 'payments',
        status: 'fail',
        seen: 'PROVIDER_SECRET_KEY is set, but PROVIDER_WEBHOOK_SECRET is not',
        expected: 'both',
        why: WITHOUT_WEBHOOKS,
        fix: 'PROVIDER_WEBHOOK_SECRET=whsec_… in .env, from the webhooks page of the provider',
      },
    ]
  if (production && secretKey.startsWith('sk_test_'))
    return [
      {
        check: 'payments',
        status: 'warn',
        seen: "one of the provider's test keys, in production",
        expected: 'a live key',
        why: 'no money moves',
        fix: 'PROVIDER_SECRET_KEY=sk_live_… in .env',
      },
    ]
  return arrivalFindings(found)
}

const HOUR_MS = 3_600_000

/** Payments also polls the provider for events: those it finds only that way show that webhooks do not arrive. */
async function arrivalFindings(found: Prepared): Promise<Finding[]> {
  const set = ok('payments', 'a provider and its webhook secret are set')
  const reading = await readDatabase(configOf(found).databaseUrl ?? '').catch(() => undefined)
  const rows = await reading?.rows(LAST_EVENTS).catch(() => undefined)
  await reading?.close()
  const at = (source: string) => rows?.find((row) => row.source === source)
  const [webhook, polled] = [at('webhook'), at('poll')]
  const late = Date.parse(polled?.last ?? '') - Date.parse(webhook?.last ?? '1970-01-01')
  if (!(late > HOUR_MS))
    return [webhook ? ok('payments', `the last webhook arrived at ${webhook.last}`) : set]
  return [
    {
      check: 'payments',
      status: 'warn',
      seen: `${webhook ? `the last webhook arrived at ${webhook.last}` : 'no webhook has arrived'}, but polling found an event at ${polled?.last}`,
      expected: 'a webhook for every event of the provider',
      why: WITHOUT_WEBHOOKS,
      fix: 'add …/api/provider/webhook to the webhooks at the provider, and compare PROVIDER_WEBHOOK_SECRET',
    },
  ]
}

const LAST_EVENTS = 'select source, max(received_at) as last from webhook_events group by source'

/** Sends a request like the provider's, but without a signature: payments itself must refuse it. */
const webhook: Check = async (installation) => {
  const found = named(installation, 'payments')
  if (!found || !configOf(found).secretKey) return []
  const { publicUrl } = configOf(found)
  if (!installation.suite?.hasPublicUrl && found.atSuite)
    return [skip('webhook', 'no public address is set')]
  if (!installation.running.has('payments')) return [skip('webhook', 'payments is not running')]
  const url = `${publicUrl}/api/provider/webhook`
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
    redirect: 'manual',
    signal: AbortSignal.timeout(ANSWER_MS),
  }).catch((error: Error) => error)
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

const mail: Check = async (installation) => {
  const found = named(installation, 'identity')
  if (!found) return []
  const { openTransport } = await import('@plinth/identity')
  const { mail: settings, publicUrl } = found.service.config as IdentityConfig
  if (!settings.smtp && settings.keepInOutbox)
    return [skip('mail', 'SMTP_URL is not set: mails stay on the Mail page of the console')]
  if (!settings.smtp)
    return [
      skip('mail', 'SMTP_URL is not set: operations that send mail, such as a reset, answer 503'),
    ]
  const transport = openTransport(settings, settings.smtp, publicUrl)
  const server = `${settings.smtp.host}:${settings.smtp.port}`
  try {
    await transport.check()
    return [ok('mail', `${server} accepts mail`)]
  } catch (error) {
    return [
      {
        check: 'mail',
        status: 'fail',
        seen: `${server}: ${(error as Error).message}`,
        expected: 'a mail server that accepts the sign-in',
        why: 'links for forgotten passwords and new addresses cannot be sent',
        fix: 'SMTP_URL=smtps://user:password@mail.example in .env',
      },
    ]
  } finally {
    transport.close()
  }
}

export const outsideChecks: Check[] = [payments, webhook, mail]
