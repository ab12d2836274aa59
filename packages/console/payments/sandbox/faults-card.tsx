import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Field, Form } from '../../shared/components/form.tsx'
import { Card, Skeleton } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/refusal.tsx'
import { type Column, Table } from '../../shared/components/table.tsx'
import { addFault, type Fault, readFaults, removeFault, removeFaults } from './controls.ts'
import { KINDS, kindText, ROUTES, routeText, TIMES, timesText } from './fault-choices.ts'

const SLOW_MILLISECONDS = 3000

export function FaultsCard() {
  const list = useLoad<{ faults: Fault[] }>(readFaults)
  const remove = useAction(async (id: number | undefined) => {
    const reply = id === undefined ? await removeFaults() : await removeFault(id)
    await list.reload()
    // It may have struck for the last time just before.
    return reply.status === 404 ? undefined : reply
  })
  const add = useAction(async ({ kind = '', route = '', times }: Record<string, string>) => {
    const delay = kind === 'latency' ? { delayMs: SLOW_MILLISECONDS } : {}
    const reply = await addFault({ kind, route, times: times ? Number(times) : null, ...delay })
    await list.reload()
    return reply
  })
  return (
    <Card
      title="Faults"
      about="What goes wrong with the calls this service makes. Add one, then create a checkout or a refund and see what your users would."
    >
      <Form label="Add a fault" onSend={add.run}>
        <Field label="What goes wrong" name="kind" options={KINDS} value={KINDS[0]?.value} />
        <div class="columns">
          <Field label="Which calls" name="route" options={ROUTES} value="*" />
          <Field label="How often" name="times" options={TIMES} value="" />
        </div>
        <div>
          <Button submits kind="primary" icon="alert" busy={add.busy}>
            Add the fault
          </Button>
        </div>
      </Form>
      {list.loading && <Skeleton />}
      <Refusal reply={add.refusal ?? remove.refusal ?? list.refusal} />
      {list.body && (
        <FaultList faults={list.body.faults} busy={remove.busy} onRemove={remove.run} />
      )}
    </Card>
  )
}

type FaultListProps = { faults: Fault[]; busy: boolean; onRemove(id?: number): void }

function FaultList({ faults, busy, onRemove }: FaultListProps) {
  if (faults.length === 0)
    return <p class="soft">No faults: the sandbox answers every call as it should.</p>
  const columns: Column<Fault>[] = [
    { title: 'Fault', of: kindText },
    { title: 'Calls', of: routeText },
    { title: 'Strikes', of: timesText },
    {
      title: 'Change',
      of: (fault) => (
        <Button small icon="cross" busy={busy} onClick={() => onRemove(fault.id)}>
          Remove
        </Button>
      ),
    },
  ]
  return (
    <>
      <Table caption="Faults" rows={faults} keyOf={({ id }) => id} columns={columns} />
      {faults.length > 1 && (
        <div>
          <Button busy={busy} onClick={() => onRemove()}>
            Remove all
          </Button>
        </div>
      )}
    </>
  )
}
