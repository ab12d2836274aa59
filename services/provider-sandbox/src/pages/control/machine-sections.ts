import { FAULT_KINDS, type Fault } from '../../api/faults/fault.ts'
import type { listRecentRequests, readClock } from '../../controls/state.ts'
import { type Html, html } from '../layout.ts'
import { actionButton, code, input, section, select, table } from './parts.ts'

export function clockSection({ now, offsetSeconds }: ReturnType<typeof readClock>): Html {
  return section(
    'clock',
    'Clock',
    html`<p>It is ${now} here, ${offsetSeconds} seconds ahead of the machine.</p>
<form method="post" action="/sandbox/do/advance-clock"><div class="grid">
${input('amount', 'Move ahead by', 1, 'number')}
${select('unit', 'of', ['seconds', 'minutes', 'hours', 'days'], 'hours')}
</div><button class="second">Move the clock</button></form>
<form method="post" action="/sandbox/do/reset-clock"><button class="quiet">Back to the machine’s time</button></form>`,
  )
}

export function faultsSection(faults: Fault[]): Html {
  const rows = faults.map((fault) => [
    html`${fault.kind}`,
    code(fault.route),
    html`${fault.remaining ?? 'until removed'}`,
    html`${Math.round(fault.probability * 100)} %`,
    actionButton('remove-fault', 'Remove', String(fault.id)),
  ])
  return section(
    'faults',
    'Faults',
    html`${table('Faults', ['Kind', 'Calls', 'Times', 'Share', 'What next'], rows)}
<form method="post" action="/sandbox/do/add-fault"><div class="grid">
${select('kind', 'Kind', Object.keys(FAULT_KINDS))}
${input('route', 'Calls (* or POST /v1/refunds)', '*')}
${input('times', 'Times (empty: until removed)', 1, 'number')}
${input('percent', 'Share of calls (%)', 100, 'number')}
${input('delayMs', 'Delay (ms)', '', 'number')}
</div><button class="second">Add</button></form>
<form method="post" action="/sandbox/do/release"><button class="quiet">Let held calls go</button></form>
<details><summary>What each kind does</summary><ul>${Object.entries(FAULT_KINDS).map(
      ([kind, { about }]) => html`<li>${code(kind)} ${about}</li>`,
    )}</ul></details>`,
  )
}

type Requests = Awaited<ReturnType<typeof listRecentRequests>>

export function requestsSection(requests: Requests): Html {
  const rows = requests.map((request) => [
    html`<code id="${request.id}">${request.id}</code>`,
    callCell(request.method, request.path),
    html`${request.status || 'no answer'}${request.replayed && ', replayed'}`,
    html`${request.idempotencyKey !== null && code(request.idempotencyKey)}`,
    html`${request.fault ?? ''}`,
  ])
  const heads = ['Request', 'Call', 'Answer', 'Idempotency key', 'Fault']
  return section('requests', 'Requests', table('Requests', heads, rows))
}

export function scenarioSection(): Html {
  return section(
    'scenario',
    'Scenario',
    html`<p><a href="/sandbox/api/scenario" download="scenario.json">Save everything as a file</a></p>
<form method="post" action="/sandbox/do/import-scenario">
<label for="scenario-text">A saved file</label>
<textarea id="scenario-text" name="scenario" rows="4" required></textarea>
<button class="second">Replace everything by it</button></form>
<form method="post" action="/sandbox/do/reset"><button class="quiet">Forget everything</button></form>`,
  )
}

/** A query can be longer than the rest of the table: it is opened by whoever wants it. */
function callCell(method: string, target: string): Html {
  const [path = '', query] = target.split('?', 2)
  if (query === undefined) return html`${method} ${code(path)}`
  return html`<details><summary>${method} ${code(`${path}?…`)}</summary>${code(query)}</details>`
}
