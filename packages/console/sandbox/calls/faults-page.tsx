import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Field, Form } from '../../shared/components/form.tsx'
import { Card, EmptyState, Page, Skeleton } from '../../shared/components/page.tsx'
import { faultOf, Refusal } from '../../shared/components/refusal.tsx'
import { type Column, Table } from '../../shared/components/table.tsx'
import { api, CONTROLS, type Fault, type Faults, useCurrent } from '../api.ts'

const ROUTES = ['*', 'POST /v1/checkout/sessions', 'POST /v1/refunds', 'POST *', 'GET *']

export function FaultsPage() {
  const list = useCurrent<Faults>('faults')
  return (
    <Page
      title="Faults"
      about="What goes wrong with the calls of your service. Add one, then create a checkout or a refund and see what your users would see."
    >
      {list.loading && <Skeleton />}
      <Refusal reply={list.refusal} />
      {list.body && (
        <>
          <NewFaultCard kinds={list.body.kinds} reload={list.reload} />
          <FaultList faults={list.body.faults} reload={list.reload} />
          <HeldCallsCard />
        </>
      )}
    </Page>
  )
}

type NewFaultProps = { kinds: Faults['kinds']; reload(): Promise<void> }

function NewFaultCard({ kinds, reload }: NewFaultProps) {
  const add = useAction(async (values: Record<string, string>) => {
    const { kind, route, times, percent, delayMs } = values
    const reply = await api.post(`${CONTROLS}/faults`, {
      ...{ kind, route },
      times: times ? Number(times) : null,
      probability: Number(percent ?? 100) / 100,
      delayMs: delayMs ? Number(delayMs) : null,
    })
    await reload()
    return reply
  })
  const fault = (field: string) => faultOf(add.reply, field)
  const options = Object.entries(kinds).map(([kind, { about }]) => ({
    value: kind,
    label: `${kind}: ${about}`,
  }))
  return (
    <Card title="New fault">
      <Form label="New fault" onSend={add.run}>
        <Field label="What goes wrong" name="kind" options={options} value="outage" />
        <div class="columns">
          <Field
            label="Which calls"
            name="route"
            value="*"
            suggestions={ROUTES}
            hint="* is every call; POST /v1/refunds or GET * narrows it."
            fault={fault('route')}
          />
          <Field
            label="How often"
            name="times"
            optional
            inputMode="numeric"
            hint="Left blank, until you remove it."
            fault={fault('times')}
          />
          <Field
            label="Share of calls in %"
            name="percent"
            value="100"
            inputMode="numeric"
            fault={fault('probability')}
          />
          <Field
            label="Delay in ms"
            name="delayMs"
            optional
            inputMode="numeric"
            hint="For latency and hold."
            fault={fault('delayMs')}
          />
        </div>
        <div>
          <Button submits kind="primary" icon="alert" busy={add.busy}>
            Add the fault
          </Button>
        </div>
      </Form>
      <Refusal reply={add.refusal} />
    </Card>
  )
}

function FaultList({ faults, reload }: { faults: Fault[]; reload(): Promise<void> }) {
  const remove = useAction(async (path: string) => {
    const reply = await api.delete(`${CONTROLS}/${path}`)
    await reload()
    // It may have struck for the last time just before.
    return reply.status === 404 ? undefined : reply
  })
  if (faults.length === 0)
    return (
      <EmptyState icon="check" title="No faults" about="The sandbox answers every call normally." />
    )
  const removal: Column<Fault> = {
    title: 'Action',
    of: ({ id, kind }) => (
      <Button small icon="cross" busy={remove.busy} onClick={() => remove.run(`faults/${id}`)}>
        Remove<span class="visually-hidden"> {kind}</span>
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
          <Button busy={remove.busy} onClick={() => remove.run('faults')}>
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
  const release = useAction(() => api.post(`${CONTROLS}/faults/release`))
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
