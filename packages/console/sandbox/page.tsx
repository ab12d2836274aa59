import { CARD, HOME, INBOX } from '../shared/components/icon.tsx'
import { HealthBar } from '../shared/health.tsx'
import { route } from '../shared/shell/route.ts'
import { startConsole } from '../shared/shell/shell.tsx'
import { api } from './api.ts'
import { FaultsPage } from './calls/faults-page.tsx'
import { RequestsPage } from './calls/requests-page.tsx'
import { ClockPage } from './clock-page.tsx'
import { BooksPage } from './money/books-page.tsx'
import { RefundsPage } from './money/refunds-page.tsx'
import { SessionsPage } from './money/sessions-page.tsx'
import { OverviewPage } from './overview-page.tsx'
import { ScenarioPage } from './scenario-page.tsx'
import { DeliveriesPage } from './webhooks/deliveries-page.tsx'
import { DeliveryPage } from './webhooks/delivery-page.tsx'
import { SwitchesPage } from './webhooks/switches-page.tsx'
import './sandbox.css'

const DeliveriesRoute = () =>
  route.value[1] ? <DeliveryPage id={route.value[1]} /> : <DeliveriesPage />

startConsole({
  title: 'Sandbox provider',
  sessionBar: <HealthBar api={api} note={<span class="soft long">No money moves.</span>} />,
  pages: [
    { path: '', title: 'Overview', icon: HOME, component: OverviewPage },
    { path: 'sessions', title: 'Sessions', icon: CARD, component: SessionsPage },
    { path: 'refunds', title: 'Refunds', icon: 'refresh', component: RefundsPage },
    { path: 'books', title: 'Books', icon: 'scroll', component: BooksPage },
    { path: 'clock', title: 'Clock', icon: 'session', component: ClockPage },
    { path: 'deliveries', title: 'Deliveries', icon: INBOX, component: DeliveriesRoute },
    { path: 'switches', title: 'Switches', icon: 'switch', component: SwitchesPage },
    { path: 'faults', title: 'Faults', icon: 'alert', component: FaultsPage },
    { path: 'requests', title: 'API calls', icon: 'wires', component: RequestsPage },
    { path: 'scenario', title: 'Scenario', icon: 'disks', component: ScenarioPage },
  ],
})
