import type { ProviderEvent, ReceivedProviderEvent } from '@plinth/client'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Code, CopyButton, Id } from '../../shared/components/code.tsx'
import { Facts } from '../../shared/components/facts.tsx'
import { Badge, Card, Page } from '../../shared/components/page.tsx'
import { Loaded, Refusal, Success } from '../../shared/components/reply.tsx'
import type { Tone } from '../../shared/components/tone.ts'
import { dateText, sizeText } from '../../shared/wording.ts'
import { api } from '../api.ts'

const TONES: Record<ProviderEvent['status'], Tone> = {
  PROCESSED: 'good',
  IGNORED: 'plain',
  FAILED: 'bad',
  DEAD: 'bad',
}

export function EventBadge({ status }: Pick<ProviderEvent, 'status'>) {
  return <Badge tone={TONES[status]}>{status.toLowerCase()}</Badge>
}

/** One event of the inbox, with the received payload. */
export function EventPage({ id }: { id: string }) {
  const path = { id }
  const event = useLoad(() => api.get('/api/webhook-events/{id}', { path }), [id])
  const retry = useAction(() => api.post('/api/webhook-events/{id}/retry', { path }), event.reload)
  return (
    <Page title={event.body?.type ?? 'Event'} back={{ href: '#/webhooks', title: 'Webhook inbox' }}>
      <Loaded of={event}>
        {(event) => (
          <>
            <Card
              title="Outcome"
              actions={
                <Button icon="refresh" busy={retry.busy} onClick={() => retry.run()}>
                  Process it again
                </Button>
              }
            >
              <EventFacts event={event} />
              <Refusal reply={retry.refusal} />
              {retry.reply?.ok && <Success>{wordsOf(retry.reply.body)}</Success>}
            </Card>
            <PayloadCard event={event} />
          </>
        )}
      </Loaded>
    </Page>
  )
}

function EventFacts({ event }: { event: ProviderEvent }) {
  return (
    <Facts
      of={{
        Event: <Id of={event.id} />,
        Status: <EventBadge status={event.status} />,
        Payment: event.paymentId ? (
          <Id of={event.paymentId} href={`#/payments/${event.paymentId}`} />
        ) : undefined,
        'Waits for': event.parkedFor ?? undefined,
        'Received by': event.source === 'webhook' ? 'delivery' : 'polling the provider',
        Received: dateText(event.receivedAt),
        Attempts: event.tries,
        'Next attempt': event.nextTryAt ? dateText(event.nextTryAt) : undefined,
        'Last failure': event.error ?? undefined,
      }}
    />
  )
}

function wordsOf({ duplicate }: { duplicate: boolean }): string {
  return duplicate ? 'It was processed before, so nothing changed.' : 'It has been processed.'
}

function PayloadCard({ event: { payload, sizeBytes } }: { event: ReceivedProviderEvent }) {
  const text = JSON.stringify(payload, null, 2)
  if (payload === null)
    return <Card title="Payload" about="It was removed, because the event is old." />
  return (
    <Card
      title="Payload"
      about={`As received, ${sizeText(sizeBytes)}. Secrets are replaced by ***.`}
      actions={<CopyButton text={() => text} />}
    >
      <Code text={text} label="Payload of the event" />
    </Card>
  )
}
