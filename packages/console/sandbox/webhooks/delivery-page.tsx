import { Code, Id } from '../../shared/components/code.tsx'
import { Facts } from '../../shared/components/facts.tsx'
import { INBOX } from '../../shared/components/icon.tsx'
import { Badge, Card, EmptyState, Page } from '../../shared/components/page.tsx'
import { Loaded } from '../../shared/components/reply.tsx'
import { dateText } from '../../shared/wording.ts'
import { type Attempt, api, type Delivery, type Message, useCurrent } from '../api.ts'

/** Everything that was sent and received for one delivery. */
export function DeliveryPage({ id }: { id: string }) {
  const deliveries = useCurrent((options) => api.get('/sandbox/api/deliveries', options))
  const delivery = deliveries.body?.find((each) => String(each.id) === id)
  return (
    <Page
      title={delivery?.eventType ?? 'Delivery'}
      back={{ href: '#/deliveries', title: 'All deliveries' }}
    >
      <Loaded of={deliveries}>{() => (delivery ? <Detail {...delivery} /> : <Missing />)}</Loaded>
    </Page>
  )
}

function Missing() {
  return (
    <EmptyState
      icon={INBOX}
      title="No such delivery"
      about="It is not among the newest 200, or the sandbox was reset."
    />
  )
}

function Detail({ eventId, state, nextAttemptAt, attempts }: Delivery) {
  return (
    <>
      <Card title="Delivery">
        <Facts
          of={{
            Event: <Id of={eventId} />,
            State: <Badge>{state}</Badge>,
            ...(nextAttemptAt && { 'Next attempt': dateText(nextAttemptAt) }),
          }}
        />
      </Card>
      {attempts.map((attempt, index) => (
        <AttemptCard key={attempt.at} attempt={attempt} number={index + 1} />
      ))}
    </>
  )
}

function AttemptCard({ attempt, number }: { attempt: Attempt; number: number }) {
  const { at, milliseconds, request, response, error } = attempt
  return (
    <Card title={`Attempt ${number}`} about={`${dateText(at)}, ${milliseconds} ms`}>
      <h3>Sent</h3>
      <Code text={textOf(request)} label={`Sent in attempt ${number}`} />
      <h3>Received</h3>
      <Code
        text={response ? `${response.status}\n${textOf(response)}` : (error ?? 'no answer')}
        label={`Received in attempt ${number}`}
      />
    </Card>
  )
}

function textOf({ headers, body }: Message): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [...lines, '', body].join('\n')
}
