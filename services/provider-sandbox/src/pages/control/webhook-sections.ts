import type { describeDeliveries, listEndpointsWithSecrets } from '../../controls/deliveries.ts'
import { REFUND_WAYS, SIGNING_WAYS, type Switches } from '../../state/switches.ts'
import { type Html, html } from '../layout.ts'
import { actionButton, code, input, section, select, table } from './parts.ts'

type Endpoints = Awaited<ReturnType<typeof listEndpointsWithSecrets>>

type Deliveries = Awaited<ReturnType<typeof describeDeliveries>>

export function endpointsSection(endpoints: Endpoints): Html {
  const rows = endpoints.map(({ id, url, enabledEvents }) => [
    html`${url}`,
    html`${enabledEvents.join(', ')}`,
    actionButton('remove-endpoint', 'Remove', id),
  ])
  return section(
    'endpoints',
    'Webhook endpoints',
    html`${table('Webhook endpoints', ['Address', 'Events', 'What next'], rows)}
<form method="post" action="/sandbox/do/add-endpoint"><div class="grid">
${input('url', 'Address', 'http://localhost:8084/api/provider/webhook', 'url')}
${input('secret', 'Secret', '')}
</div><button class="second">Add</button></form>`,
  )
}

export function deliveriesSection(deliveries: Deliveries): Html {
  const rows = deliveries.map((delivery) => [
    html`${delivery.eventType ?? ''} ${code(delivery.eventId)}`,
    html`${delivery.state}`,
    html`${delivery.attempts.at(-1)?.response?.status ?? delivery.attempts.at(-1)?.error ?? '–'}`,
    html`<a href="/sandbox/deliveries/${delivery.id}">Attempts: ${delivery.attempts.length}</a>`,
    actionButton('resend', 'Send again', delivery.eventId),
  ])
  return section(
    'deliveries',
    'Deliveries',
    html`<form method="post" action="/sandbox/do/flush"><button class="quiet">Send what is due</button></form>
${table('Deliveries', ['Event', 'State', 'Last answer', 'Log', 'What next'], rows)}`,
  )
}

export function switchesSection(switches: Switches): Html {
  const onOff = (on: boolean) => (on ? 'on' : 'off')
  return section(
    'switches',
    'Switches',
    html`<form method="post" action="/sandbox/do/switches"><div class="grid">
${select('paused', 'Hold deliveries back', ['off', 'on'], onOff(switches.paused))}
${input('drop', 'Never deliver (types, or *)', switches.drop.join(' '))}
${input('delaySeconds', 'Delay deliveries (seconds)', switches.delaySeconds, 'number')}
${input('duplicates', 'Extra copies', switches.duplicates, 'number')}
${input('reorder', 'Reverse every so many', switches.reorder, 'number')}
${select('sameSecond', 'Events in one second', ['off', 'on'], onOff(switches.eventSecond !== null))}
${select('signWith', 'Sign with secret', SIGNING_WAYS, switches.signWith)}
${select('refunds', 'Refunds', REFUND_WAYS, switches.refunds)}
${select('amountLimits', 'Least and most amounts', ['off', 'on'], onOff(switches.amountLimits))}
</div><button class="second">Set</button></form>`,
  )
}

/** Everything that was sent and received for one delivery. */
export function deliveryDetail(delivery: Deliveries[number]): Html {
  return html`<p><a href="/sandbox#deliveries">All deliveries</a></p>
<h1>${delivery.eventType ?? 'A delivery'}</h1>
<p>${code(delivery.eventId)}, ${delivery.state}</p>
${delivery.attempts.map(
  ({ at, request, response, error, milliseconds }, index) => html`<section>
<h2>Attempt ${index + 1}, ${at}, ${milliseconds} ms</h2>
<h3>Sent</h3>
<pre>${headerLines(request.headers)}

${request.body}</pre>
<h3>Received</h3>
<pre>${response ? `${response.status}\n${headerLines(response.headers)}\n\n${response.body}` : error}</pre>
</section>`,
)}`
}

function headerLines(headers: Record<string, string>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}
