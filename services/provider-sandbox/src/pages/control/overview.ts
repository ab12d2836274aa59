import type { Controls } from '../../controls/controls.ts'
import { describeDeliveries, listEndpointsWithSecrets } from '../../controls/deliveries.ts'
import {
  listRecent,
  listRecentRequests,
  readAllSwitches,
  readClock,
  readFaults,
} from '../../controls/state.ts'
import { readBooks } from '../../resources/money/books.ts'
import type { CheckoutSession, Refund } from '../../state/object-kinds.ts'
import { html, type Page } from '../layout.ts'
import {
  clockSection,
  faultsSection,
  requestsSection,
  scenarioSection,
} from './machine-sections.ts'
import { booksSection, refundsSection, sessionsSection } from './money-sections.ts'
import { deliveriesSection, endpointsSection, switchesSection } from './webhook-sections.ts'

const SHOWN = 25

const PARTS = [
  'sessions',
  'refunds',
  'books',
  'clock',
  'deliveries',
  'endpoints',
  'switches',
  'faults',
  'requests',
  'scenario',
]

/** Everything there is to see and to turn, on one page. */
export async function overviewPage(controls: Controls, problem?: string): Promise<Page> {
  const { sandbox } = controls
  const sessions = (await listRecent(sandbox, 'checkout.session')) as CheckoutSession[]
  const refunds = (await listRecent(sandbox, 'refund')) as Refund[]
  const main = html`<h1>Sandbox payment provider</h1>
${problem !== undefined && html`<p class="notice bad" role="alert">${problem}</p>`}
<nav aria-label="Parts of this page"><ul>${PARTS.map(
    (part) => html`<li><a href="#${part}">${part}</a></li>`,
  )}</ul></nav>
${sessionsSection(sessions.slice(0, SHOWN))}
${refundsSection(refunds.slice(0, SHOWN))}
${booksSection(await readBooks(sandbox))}
${clockSection(readClock(controls))}
${deliveriesSection((await describeDeliveries(sandbox)).slice(0, SHOWN))}
${endpointsSection(await listEndpointsWithSecrets(sandbox))}
${switchesSection(await readAllSwitches(sandbox))}
${faultsSection(await readFaults(sandbox))}
${requestsSection((await listRecentRequests(sandbox)).slice(0, SHOWN))}
${scenarioSection()}`
  return { title: 'Controls', main, wide: true }
}
