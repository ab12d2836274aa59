import { useSignal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import { baseUrl } from '../../shared/api/base-url.ts'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Field } from '../../shared/components/form.tsx'
import { Badge, EmptyState, Notice, Page, Skeleton } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/refusal.tsx'
import { type Column, PagedTable } from '../../shared/components/table.tsx'
import { dateText, moneyText } from '../../shared/wording.ts'
import { api, CONTROLS, useCurrent } from '../api.ts'

type Session = {
  id: string
  amount_total: number
  currency: string
  status: 'open' | 'complete' | 'expired'
  payment_status: string
  payment_intent: string | null
  url: string | null
  created: number
}

const CARDS = [
  { value: '4242424242424242', label: '4242 … 4242, succeeds' },
  { value: '4000000000007726', label: '4000 … 7726, refunds are pending first' },
  { value: '4000000000005126', label: '4000 … 5126, refunds fail later' },
]

type Act = (session: Session, action: string) => void

export function SessionsPage() {
  const sessions = useCurrent<Session[]>('sessions')
  const card = useSignal(CARDS[0]?.value)
  const act = useAction(async ({ id }: Session, action: string) => {
    const body = action === 'pay' ? { card: card.value } : undefined
    const reply = await api.post(`${CONTROLS}/sessions/${id}/${action}`, body)
    await sessions.reload()
    return reply
  })
  return (
    <Page
      title="Checkout sessions"
      about="Be the customer and the bank: pay, decline, or let a session expire. The webhooks follow."
    >
      {sessions.loading && <Skeleton />}
      <Refusal reply={act.refusal ?? sessions.refusal} />
      <Outcome reply={act.reply} />
      {sessions.body?.length === 0 && (
        <EmptyState
          icon="card"
          title="No sessions"
          about="Create a checkout with your service: its session appears here."
        />
      )}
      {sessions.body && sessions.body.length > 0 && (
        <>
          <Field
            label="Card that “Pay” uses"
            name="card"
            options={CARDS}
            value={card.value}
            onInput={(value) => {
              card.value = value
            }}
          />
          <PagedTable
            caption="Checkout sessions"
            rows={sessions.body}
            keyOf={({ id }) => id}
            columns={[...COLUMNS, actionColumn(act.run)]}
          />
        </>
      )}
    </Page>
  )
}

const WORDS: Record<string, string> = {
  paid: 'The session is paid.',
  processing: 'The bank debit is under way; it settles or fails later.',
  challenge: 'The bank asks the customer first: answer on the hosted page.',
  declined: 'The card was declined; the session stays open.',
}

function Outcome({ reply }: { reply?: Reply }) {
  const words = reply?.ok && WORDS[reply.body?.outcome?.state]
  if (!words) return null
  return (
    <Notice tone="good">
      <p role="status">{words}</p>
    </Notice>
  )
}

const COLUMNS: Column<Session>[] = [
  {
    title: 'Session',
    of: ({ id, url }) =>
      url === null ? (
        <code title={id}>{shortId(id)}</code>
      ) : (
        <a href={`${baseUrl}/pay/${id}`} target="_blank" rel="noopener noreferrer" title={id}>
          <code>{shortId(id)}</code>
          <span class="visually-hidden"> (opens in a new tab)</span>
        </a>
      ),
  },
  {
    title: 'Amount',
    of: ({ amount_total: amount, currency }) => moneyText(amount, currency),
    number: true,
  },
  {
    title: 'State',
    of: ({ status, payment_status: paid }) =>
      status === 'complete' ? (
        <Badge tone={paid === 'unpaid' ? 'warn' : 'good'}>{`complete, ${wordsOf(paid)}`}</Badge>
      ) : (
        <Badge tone={status === 'open' ? 'accent' : 'plain'}>{status}</Badge>
      ),
  },
  { title: 'Created', of: ({ created }) => dateText(created * 1000) },
]

function actionColumn(act: Act): Column<Session> {
  return {
    title: 'Action',
    of: (session) => {
      const offered = actionsOf(session)
      if (offered.length === 0) return '–'
      return (
        <span class="row">
          {offered.map(({ action, label }) => (
            <Button key={action} small onClick={() => act(session, action)}>
              {label}
              <span class="visually-hidden"> {session.id}</span>
            </Button>
          ))}
        </span>
      )
    },
  }
}

function actionsOf({ status, payment_status: paid, payment_intent: intent }: Session) {
  if (status === 'open')
    return [
      { action: 'pay', label: 'Pay' },
      { action: 'decline', label: 'Decline' },
      { action: 'bank-debit', label: 'Bank debit' },
      { action: 'expire', label: 'Expire' },
    ]
  if (status === 'complete' && paid === 'unpaid' && intent !== null)
    return [
      { action: 'settle', label: 'Settle' },
      { action: 'fail', label: 'Fail' },
    ]
  return []
}

const wordsOf = (status: string) => status.replaceAll('_', ' ')

const shortId = (id: string) => (id.length > 20 ? `${id.slice(0, 12)}…${id.slice(-4)}` : id)
