import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Form, type Values } from '../../shared/components/form.tsx'
import { Card, EmptyState, Page } from '../../shared/components/page.tsx'
import { Loaded, Refusal } from '../../shared/components/reply.tsx'
import { type Column, Table } from '../../shared/components/table.tsx'
import { api, type Fault, type Faults, useCurrent } from '../api.ts'

const ROUTES = ['*', 'POST /v1/checkout/sessions', 'POST /v1/refunds', 'POST *', 'GET *']

export function FaultsPage() {
  const list = useCurrent((options) => api.get('/sandbox/api/faults', options))
  return (
    <Page
      title="Faults"
      about="What goes wrong with the calls of your service. Add one, then create a checkout or a refund and see what your users would see."
    >
      <Loaded of={list}>
        {({ kinds, faults }) => (
          <>
            <NewFaultCard kinds={kinds} reload={list.reload} />
            <FaultList faults={faults} reload={list.reload} />
            <HeldCallsCard />
          </>
        )}
      </Loaded>
    </Page>
  )
}

type NewFaultProps = { kinds: Faults['kinds']; reload(): Promise<void> }

function NewFaultCard({ kinds, reload }: NewFaultProps) {
  const add = useAction(({ kind, route, times, probability = '100', delayMs }: Values) => {
    // Text that is no number is sent as it is: the service says what is wrong with it.
    const number = (text: string | undefined) =>
      text && !Number.isNaN(Number(text)) ? Number(text) : (text ?? null)
    return api.post('/sandbox/api/faults', {
      json: {
        ...{ kind, route },
        times: number(times),
        probability: Number(probability) / 100,
        delayMs: number(delayMs),
      },
    })
  }, reload)
  const options = Object.entries(kinds).map(([kind, { about }]) => ({
    value: kind,
    label: `${kind}: ${about}`,
  }))
  return (
    <Card title="New fault">
      <Form
        label="New fault"
        fields={[
          { label: 'What goes wrong', name: 'kind', options, value: 'outage', wide: true },
          {
            label: 'Which calls',
            name: 'route',
            value: '*',
            suggestions: ROUTES,
            hint: '* is every call; POST /v1/refunds or GET * narrows it.',
          },
          {
            label: 'How often',
            name: 'times',
            optional: true,
            inputMode: 'numeric',
            hint: 'Blank: until you remove it.',
          },
          { label: 'Share of calls in %', name: 'probability', value: '100', inputMode: 'numeric' },
          {
            label: 'Delay in ms',
            name: 'delayMs',
            optional: true,
            inputMode: 'numeric',
            hint: 'For latency and hold.',
          },
        ]}
        action={add}
        send="Add the fault"
        kind="primary"
        icon="alert"
      />
    </Card>
  )
}

function FaultList({ faults, reload }: { faults: Fault[]; reload(): Promise<void> }) {
  const remove = useAction(async (id: number | 'all') => {
    const reply = await (id === 'all'
      ? api.delete('/sandbox/api/faults')
      : api.delete('/sandbox/api/faults/{id}', { path: { id } }))
    // The fault may just have occurred for the last time and removed itself.
    return reply.status === 404 ? undefined : reply
  }, reload)
  if (faults.length === 0)
    return (
      <EmptyState icon="check" title="No faults" about="The sandbox answers every call normally." />
    )
  const removal: Column<Fault> = {
    title: 'Action',
    of: ({ id, kind }) => (
      <Button small icon="cross" subject={kind} busy={remove.busy} onClick={() => remove.run(id)}>
        Remove
      </Button>
    ),
  }
  return (
    <>
      <Refusal reply={remove.refusal} />
      <Table
        caption="Faults"
        rows={faults}
        keyOf={({ id }) => id}
        columns={[...COLUMNS, removal]}
      />
      {faults.length > 1 && (
        <div>
          <Button busy={remove.busy} onClick={() => remove.run('all')}>
            Remove all
          </Button>
        </div>
      )}
    </>
  )
}

const COLUMNS: Column<Fault>[] = [
  { title: 'Fault', of: ({ kind }) => <strong>{kind}</strong> },
  { title: 'Calls', of: ({ route }) => <code>{route}</code> },
  { title: 'Times', of: ({ remaining }) => remaining ?? 'until removed', number: true },
  { title: 'Share', of: ({ probability }) => `${Math.round(probability * 100)} %`, number: true },
  { title: 'Delay', of: ({ delayMs }) => (delayMs === null ? '–' : `${delayMs} ms`), number: true },
]

function HeldCallsCard() {
  const release = useAction(() => api.post('/sandbox/api/faults/release'))
  return (
    <Card
      title="Held calls"
      about="Calls that hang, or whose answer is held, wait until you release them."
    >
      <div class="row">
        <Button busy={release.busy} onClick={() => release.run()}>
          Release held calls
        </Button>
        <span class="small" role="status">
          {release.reply?.ok && `Released: ${release.reply.body.released}.`}
        </span>
      </div>
      <Refusal reply={release.refusal} />
    </Card>
  )
}
