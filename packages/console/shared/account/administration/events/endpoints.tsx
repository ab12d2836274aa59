import type { PaymentsApi, WebhookEndpoint } from '@plinth/client'
import type { Api, Reply } from '../../../api/api.ts'
import type { EventReplies } from '../../../api/shared-operations.ts'
import { useAction, useLoad } from '../../../api/use-reply.ts'
import { Button, ConfirmButton } from '../../../components/button.tsx'
import { Code, CopyButton } from '../../../components/code.tsx'
import { Form, type Values } from '../../../components/form.tsx'
import { Badge, Card, Notice } from '../../../components/page.tsx'
import { Success } from '../../../components/reply.tsx'
import { type Column, List } from '../../../components/table.tsx'
import type { Tone } from '../../../components/tone.ts'
import { dateText } from '../../../wording.ts'

type Verb = 'test' | 'pause' | 'resume' | 'secret' | 'rotate' | 'delete'

type Props = { api: Api<EventReplies>; by?: unknown }

/** What the calls of this card answer with, as far as it is shown. */
type Made = Pick<PaymentsApi.WebhookSecret, 'secret'> | PaymentsApi.SentTest

/** The endpoints that events are sent to: their state, and every action on them. */
export function Endpoints({ api, by }: Props) {
  const endpoints = useLoad(() => api.get('/api/webhooks/endpoints'), [by])
  const make = useAction(
    ({ url = '', description, types = '' }: Values) =>
      api.post('/api/webhooks/endpoints', {
        json: { url, description, types: types.split(/[\s,]+/).filter(Boolean) },
      }),
    endpoints.reload,
  )
  const change = useAction(
    async ({ id }: WebhookEndpoint, verb: Verb): Promise<Reply<Made | undefined>> => {
      const at = { path: { id } }
      if (verb === 'test') return api.post('/api/webhooks/endpoints/{id}/test', at)
      if (verb === 'secret') return api.get('/api/webhooks/endpoints/{id}/secret', at)
      if (verb === 'rotate') return api.post('/api/webhooks/endpoints/{id}/rotate-secret', at)
      const json = { state: verb === 'pause' ? 'paused' : 'active' }
      const reply = await (verb === 'delete'
        ? api.delete('/api/webhooks/endpoints/{id}', at)
        : api.patch('/api/webhooks/endpoints/{id}', { ...at, json }))
      return reply.ok ? { ...reply, body: undefined } : reply
    },
    endpoints.reload,
  )
  return (
    <Card title="Endpoints" about="Each gets every event of its types, signed with its own secret.">
      <List
        of={endpoints}
        action={change}
        caption="Endpoints"
        records={['endpoint', 'endpoints']}
        place="endpoints-"
        columns={[...COLUMNS, changeColumn(change.run)]}
        empty={<p class="soft">There are no endpoints yet.</p>}
      />
      <Outcome body={change.reply?.ok ? change.reply.body : undefined} />
      {endpoints.body && (
        <Form
          label="Add an endpoint"
          round={make.successes}
          fields={[
            {
              label: 'Address',
              name: 'url',
              type: 'url',
              placeholder: 'https://shop.example/hooks',
            },
            {
              label: 'Types',
              name: 'types',
              optional: true,
              hint: 'Separated by commas; all if empty',
            },
            { label: 'Description', name: 'description', optional: true, maxLength: 200 },
          ]}
          action={make}
          send="Add an endpoint"
          kind="primary"
          icon="link"
        />
      )}
      <Outcome body={make.reply?.ok ? make.reply.body : undefined} />
    </Card>
  )
}

/** A secret to copy, with the code that needs it, or the test event that was sent. */
function Outcome({ body }: { body: Made | undefined }) {
  if (!body) return null
  if ('eventId' in body)
    return (
      <Success>
        A ping is on its way. <a href={`#/events/${body.eventId}`}>See its deliveries</a>
      </Success>
    )
  const { secret } = body
  return (
    <Notice tone="good" alert>
      <p>Receivers verify signatures with this secret:</p>
      <Code text={secret} label="The secret" />
      <span class="row">
        <CopyButton text={() => secret} label="Copy the secret" />
        <CopyButton text={() => VERIFIER} label="Copy the verifier code" />
      </span>
    </Notice>
  )
}

const CLIENT = '@plinth/client/webhooks'

const VERIFIER = `import { verifyWebhook } from '${CLIENT}'

/** Needs the raw body: no JSON parser may have read the request before. */
export async function receive(request) {
  const event = await verifyWebhook({
    secrets: process.env.WEBHOOK_SECRET,
    headers: request.headers,
    body: await request.text(),
  })
  // Store event.id under a unique index, in the same transaction as your work: an event may arrive twice.
  return new Response(null, { status: 204 })
}
`

const TONES: Record<WebhookEndpoint['state'], Tone> = {
  active: 'good',
  paused: 'warn',
  disabled: 'bad',
}

const COLUMNS: Column<WebhookEndpoint>[] = [
  {
    title: 'Address',
    value: ({ url }) => url,
    of: ({ url, description }) => (
      <>
        <strong>{url}</strong>
        {description && <p class="soft">{description}</p>}
      </>
    ),
  },
  { title: 'Types', of: ({ types }) => types.join(', ') || 'all' },
  {
    title: 'State',
    value: ({ state }) => state,
    of: ({ state, stateReason }) => (
      <>
        <Badge tone={TONES[state]}>{state}</Badge> {stateReason}
      </>
    ),
  },
  { title: 'Health', of: healthOf },
]

function healthOf({ firstFailureAt, lastSuccessAt }: WebhookEndpoint): string {
  if (firstFailureAt) return `failing since ${dateText(firstFailureAt)}`
  return lastSuccessAt ? `answered ${dateText(lastSuccessAt)}` : 'no delivery yet'
}

const LABELS: Record<Verb, string> = {
  test: 'Send a test',
  pause: 'Pause',
  resume: 'Make active',
  secret: 'Show the secret',
  rotate: 'New secret',
  delete: 'Delete',
}

/** Actions that cannot be undone ask first. */
const QUESTIONS: Partial<Record<Verb, string>> = {
  rotate: 'Replace it? The old secret ends in a day.',
  delete: 'Delete it and its secret?',
}

function changeColumn(
  change: (endpoint: WebhookEndpoint, verb: Verb) => void,
): Column<WebhookEndpoint> {
  const verbsOf = ({ state }: WebhookEndpoint): Verb[] => [
    ...(state === 'disabled' ? [] : (['test'] as const)),
    state === 'active' ? 'pause' : 'resume',
    'secret',
    'rotate',
    'delete',
  ]
  return {
    title: 'Change',
    acts: true,
    of: (endpoint) => (
      <span class="row">
        {verbsOf(endpoint).map((verb) => {
          const question = QUESTIONS[verb]
          const props = {
            small: true,
            subject: endpoint.url,
            onClick: () => change(endpoint, verb),
            children: LABELS[verb],
          }
          if (!question) return <Button key={verb} {...props} />
          const kind = verb === 'delete' ? 'danger' : 'plain'
          return <ConfirmButton key={verb} {...props} kind={kind} question={question} />
        })}
      </span>
    ),
  }
}
