import { ABOUT_EVENTS, Events } from '../shared/account/administration/events/events.tsx'
import { resume } from '../shared/account/session/code-flow/provider.ts'
import { SignInAgain } from '../shared/account/session/sign-in-again.tsx'
import { CARD, HOME, INBOX } from '../shared/components/icon.tsx'
import { Page } from '../shared/components/page.tsx'
import type { ConsolePage } from '../shared/shell/definition.ts'
import { factsRead } from '../shared/shell/facts.ts'
import { inReference } from '../shared/shell/finders.ts'
import { customersIn, endpointsIn, keysIn, paymentsIn } from '../shared/shell/records.ts'
import { route } from '../shared/shell/route.ts'
import { startConsole } from '../shared/shell/shell.tsx'
import { AccessBar, AccessPage, withCaller } from './access-page.tsx'
import { api, identifies, mayCall, session, timesGiven } from './api.ts'
import { CheckoutPage } from './checkout/checkout-page.tsx'
import { CustomersPage } from './checkout/customers-page.tsx'
import { OverviewPage } from './overview-page.tsx'
import { PaymentListPage } from './payment/payment-list-page.tsx'
import { PaymentPage } from './payment/payment-page.tsx'
import { readProvider, SandboxMark } from './provider.tsx'
import { EventPage } from './webhooks/event-page.tsx'
import { WebhooksPage } from './webhooks/webhooks-page.tsx'

const PaymentsRoute = () =>
  route.value[1] ? <PaymentPage id={route.value[1]} /> : <PaymentListPage />

const WebhooksRoute = () => (route.value[1] ? <EventPage id={route.value[1]} /> : <WebhooksPage />)

const EventsPage = () => (
  <Page title="Events" about={ABOUT_EVENTS}>
    <Events api={api} by={String(timesGiven.value)} />
  </Page>
)

const FOR_CALLERS: ConsolePage[] = [
  { path: 'checkout', title: 'New checkout', icon: CARD, component: CheckoutPage },
  { path: 'payments', title: 'Payments', icon: 'list', component: PaymentsRoute },
  { path: 'webhooks', title: 'Webhook inbox', icon: INBOX, component: WebhooksRoute },
  { path: 'events', title: 'Events', icon: 'wires', component: EventsPage },
  { path: 'customers', title: 'Customers', icon: 'people', component: CustomersPage },
]

const KEYS = keysIn({ api }, 'access')

const RECORDS = [paymentsIn({ api }), customersIn({ api }), endpointsIn({ api })]

const operations = inReference()

// What pages show first depends on whether they may call the service and whether the provider is the sandbox.
const [isHere] = await Promise.all([resume(session), factsRead, readProvider()])
if (isHere)
  startConsole({
    title: 'Payments',
    mark: <SandboxMark />,
    sessionBar: (
      <>
        <AccessBar />
        <SignInAgain session={session} />
      </>
    ),
    settings: { 'Access token or service key': 'access', 'Service keys': 'access' },
    finders: () => [
      ...(mayCall.value ? RECORDS : []),
      ...(identifies.value ? [KEYS] : []),
      operations,
    ],
    pages: [
      { path: '', title: 'Overview', icon: HOME, component: OverviewPage },
      ...FOR_CALLERS.map((page) => ({
        ...page,
        component: withCaller(page.title, page.component),
      })),
      { path: 'access', title: 'Access', icon: 'key', component: AccessPage },
    ],
  })
