/** What the services need beyond this machine: the payment provider and a mail server. */
import type { IdentityConfig } from '@plinth/identity'
import type { Prepared } from '../../../launcher/stack/prepare.ts'
import { type Check, configOf, type Finding, ok, type Patient, skip } from './finding.ts'
import { readDatabase } from './stores/read-database.ts'

const ANSWER_MS = 10_000

const named = ({ prepared }: Patient, name: string) =>
  prepared.find(({ entry }) => entry.name === name)

const payments: Check = async (patient) => {
  const { production } = patient
  const found = named(patient, 'payments')
  if (!found) return []
  const { secretKey, webhookSecrets = [] } = configOf(found)
  if (!secretKey) return [skip('payments', 'no provider is configured: it answers 503')]
  if (webhookSecrets.length === 0)
    return [
      {
        check: 'payments',
        status: 'fail',
        seen: 'PROVIDER_SECRET_KEY is set and PROVIDER_WEBHOOK_SECRET is not',
        expected: 'both',
        why: 'without webhooks a payment is seen only when we ask, up to a minute later',
        fix: 'PROVIDER_WEBHOOK_SECRET=whsec_… in .env, from the provider’s page of webhooks',
      },
    ]
  if (production && secretKey.startsWith('sk_test_'))
    return [
      {
        check: 'payments',
        status: 'warn',
        seen: 'a test key of the provider, in production',
        expected: 'a live key',
        why: 'no money moves',
        fix: 'PROVIDER_SECRET_KEY=sk_live_… in .env',
      },
    ]
  return arrivalFindings(found)
}

const HOUR_MS = 3_600_000

/** What no webhook announced, payments finds by asking the provider for its events. */
async function arrivalFindings(found: Prepared): Promise<Finding[]> {
  const set = ok('payments', 'a provider and its webhook secret are set')
  const reading = await readDatabase(configOf(found).databaseUrl ?? '').catch(() => undefined)
  const rows = await reading?.rows(LAST_EVENTS).catch(() => undefined)
  await reading?.close()
  const at = (source: string) => rows?.find((row) => row.source === source)
  const [webhook, asked] = [at('webhook'), at('poll')]
  const late = Date.parse(asked?.last ?? '') - Date.parse(webhook?.last ?? '1970-01-01')
  if (!(late > HOUR_MS))
    return [webhook ? ok('payments', `the last webhook came at ${webhook.last}`) : set]
  return [
    {
      check: 'payments',
      status: 'warn',
      seen: `${webhook ? `the last webhook came at ${webhook.last}` : 'no webhook has come'}, and an event was found by asking at ${asked?.last}`,
      expected: 'a webhook for every event of the provider',
      why: 'without webhooks a payment is seen only when we ask, up to a minute later',
      fix: 'add …/api/provider/webhook to the webhooks of the provider, and compare PROVIDER_WEBHOOK_SECRET',
    },
  ]
}

const LAST_EVENTS = 'select source, max(received_at) as last from webhook_events group by source'

/** Asks as the provider would, but without a signature: payments itself must be the one to refuse. */
const webhook: Check = async (patient) => {
  const found = named(patient, 'payments')
  if (!found || !configOf(found).secretKey) return []
  const { publicUrl } = configOf(found)
  if (!patient.suite?.hasPublicUrl && found.atSuite)
    return [skip('webhook', 'no public address is set')]
  if (!patient.running.has('payments')) return [skip('webhook', 'payments does not run')]
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
    return [ok('webhook', `${url} leads to payments`)]
  const answer = reply instanceof Error ? 'does not answer' : `answers with ${reply.status}`
  return [
    {
      check: 'webhook',
      status: 'fail',
      seen: `${url} ${answer}, and not as payments`,
      expected: 'payments, which asks for the signature of the provider',
      why: 'without webhooks a payment is seen only when we ask, up to a minute later',
      fix: 'pass POST requests for this address on to payments, without a sign-in of the proxy',
    },
  ]
}

const mail: Check = async (patient) => {
  const found = named(patient, 'identity')
  if (!found) return []
  const { openTransport } = await import('@plinth/identity')
  const { mail: settings, publicUrl } = found.service.config as IdentityConfig
  if (!settings.smtp && settings.keepInOutbox)
    return [skip('mail', 'SMTP_URL is not set: mails stay on the page Mail of the console')]
  if (!settings.smtp)
    return [skip('mail', 'SMTP_URL is not set: what needs a mail, as a reset, answers 503')]
  const transport = openTransport(settings, settings.smtp, publicUrl)
  const server = `${settings.smtp.host}:${settings.smtp.port}`
  try {
    await transport.check()
    return [ok('mail', `${server} takes mail`)]
  } catch (error) {
    return [
      {
        check: 'mail',
        status: 'fail',
        seen: `${server}: ${(error as Error).message}`,
        expected: 'a mail server that takes our sign-in',
        why: 'links for forgotten passwords and new addresses are not sent',
        fix: 'SMTP_URL=smtps://user:password@mail.example in .env',
      },
    ]
  } finally {
    transport.close()
  }
}

export const outsideChecks: Check[] = [payments, webhook, mail]
