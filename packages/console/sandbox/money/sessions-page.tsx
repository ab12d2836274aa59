import { useSignal } from '@preact/signals'
import { baseUrl } from '../../shared/api/base-url.ts'
import { useAction } from '../../shared/api/use-reply.ts'
import { ButtonLink } from '../../shared/components/button.tsx'
import { Id } from '../../shared/components/code.tsx'
import { Field } from '../../shared/components/form.tsx'
import { CARD } from '../../shared/components/icon.tsx'
import { Badge, EmptyState, Page } from '../../shared/components/page.tsx'
import { Refusal, Success } from '../../shared/components/reply.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { dateText, moneyText } from '../../shared/wording.ts'
import { api, type CheckoutSession, useCurrent } from '../api.ts'
import { actionColumn } from './action-column.tsx'

const CARDS = [
  { value: '4242424242424242', label: '4242 … 4242, succeeds' },
  { value: '4000000000007726', label: '4000 … 7726, refunds are pending first' },
  { value: '4000000000005126', label: '4000 … 5126, refunds fail later' },
]

export function SessionsPage() {
  const sessions = useCurrent((options) => api.get('/sandbox/api/sessions', options))
  const card = useSignal('4242424242424242')
  const act = useAction(({ id }: CheckoutSession, action: string) => {
    const json = action === 'pay' ? { card: card.value } : undefined
    return api.post('/sandbox/api/sessions/{id}/{action}', { path: { id, action }, json })
  }, sessions.reload)
  const words = act.reply?.ok && WORDS[act.reply.body?.outcome?.state ?? '']
  return (
    <Page
      title="Checkout sessions"
      about="Be the customer and the bank: pay, decline, or let a session expire. The webhooks follow."
    >
      <Refusal reply={act.refusal} />
      {words && <Success>{words}</Success>}
      {sessions.body && sessions.body.length > 0 && (
        <Field label="Card that “Pay” uses" name="card" options={CARDS} bind={card} />
      )}
      <List
        of={sessions}
        caption="Checkout sessions"
        records={['session', 'sessions']}
        columns={[...COLUMNS, actionColumn(actionsOf, act.run)]}
        empty={
          <EmptyState
            icon={CARD}
            title="No sessions"
            about="Create a checkout with your service: its session appears here."
          />
        }
      />
    </Page>
  )
}

const WORDS: Record<string, string> = {
  paid: 'The session is paid.',
  processing: 'The bank debit is under way; it settles or fails later.',
  challenge: 'The bank asks the customer first: answer on the hosted page.',
  declined: 'The card was declined; the session stays open.',
}

const COLUMNS: Column<CheckoutSession>[] = [
  {
    title: 'Session',
    of: ({ id, url }) => (
      <span class="row">
        <Id of={id} />
        {url !== null && (
          <ButtonLink href={`${baseUrl}/pay/${id}`} newTab small kind="quiet">
            Hosted page
          </ButtonLink>
        )}
      </span>
    ),
  },
  {
    title: 'Amount',
    value: ({ amount_total: amount }) => amount,
    of: ({ amount_total: amount, currency }) => moneyText(amount, currency),
    number: true,
  },
  {
    title: 'State',
    value: ({ status }) => status,
    of: ({ status, payment_status: paid }) =>
      status === 'complete' ? (
        <Badge tone={paid === 'unpaid' ? 'warn' : 'good'}>{`complete, ${wordsOf(paid)}`}</Badge>
      ) : (
        <Badge tone={status === 'open' ? 'accent' : 'plain'}>{status}</Badge>
      ),
  },
  {
    title: 'Created',
    value: ({ created }) => created,
    of: ({ created }) => dateText(created * 1000),
  },
]

function actionsOf({
  status,
  payment_status: paid,
  payment_intent: intent,
}: CheckoutSession): string[] {
  if (status === 'open') return ['pay', 'decline', 'bank-debit', 'expire']
  return status === 'complete' && paid === 'unpaid' && intent !== null ? ['settle', 'fail'] : []
}

const wordsOf = (status: string) => status.replaceAll('_', ' ')
