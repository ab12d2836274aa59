import { route } from '../family/route.ts'
import { HealthBar } from '../family/shell/health-bar.tsx'
import { startConsole } from '../family/shell/start-console.tsx'
import { AccessNote, AccessPage } from './access-page.tsx'
import { api } from './api.ts'
import { CheckoutPage } from './checkout-page.tsx'
import { CustomersPage } from './customers-page.tsx'
import { OverviewPage } from './overview-page.tsx'
import { PaymentPage } from './payment/payment-page.tsx'
import { PaymentListPage } from './payment-list-page.tsx'
import { SandboxPage } from './sandbox/sandbox-page.tsx'
import { readProvider } from './sandbox.ts'
import { SandboxMark } from './sandbox-mark.tsx'
import { WebhooksPage } from './webhooks-page.tsx'

const PaymentsRoute = () =>
  route.value[1] ? <PaymentPage id={route.value[1]} /> : <PaymentListPage />

readProvider()
startConsole({
  title: 'Payments',
  mark: <SandboxMark />,
  sessionBar: <HealthBar api={api} note={<AccessNote />} />,
  pages: [
    { path: '', title: 'Overview', icon: 'home', component: OverviewPage },
    { path: 'checkout', title: 'New checkout', icon: 'card', component: CheckoutPage },
    { path: 'payments', title: 'Payments', icon: 'list', component: PaymentsRoute },
    { path: 'webhooks', title: 'Webhook inbox', icon: 'inbox', component: WebhooksPage },
    { path: 'customers', title: 'Customers', icon: 'people', component: CustomersPage },
    { path: 'sandbox', title: 'Sandbox', icon: 'sliders', component: SandboxPage },
    { path: 'access', title: 'Access token', icon: 'key', component: AccessPage, inside: '' },
  ],
})
