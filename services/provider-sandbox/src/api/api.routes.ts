import type { Server } from '@plinth/kit'
import { createSession } from '../resources/checkout/new-session.ts'
import {
  expireSessionCall,
  listSessionItems,
  listSessions,
  retrieveSession,
} from '../resources/checkout/sessions.ts'
import {
  createCustomer,
  deleteCustomer,
  listCustomers,
  retrieveCustomer,
  updateCustomer,
} from '../resources/customers.ts'
import {
  listBalanceTransactions,
  listCharges,
  listEvents,
  listPaymentIntents,
  retrieve,
  retrieveBalance,
} from '../resources/lists.ts'
import { createRefund } from '../resources/money/new-refund.ts'
import {
  cancelRefundCall,
  listRefunds,
  retrieveRefund,
  updateRefund,
} from '../resources/money/refunds.ts'
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  updateEndpoint,
} from '../resources/webhooks/endpoints.ts'
import type { Sandbox } from '../state/sandbox.ts'
import type { HeldCalls } from './faults/held-calls.ts'
import { providerApi } from './pipeline.ts'

/** The provider's API: every endpoint the sandbox answers. */
export function apiRoutes(server: Server, sandbox: Sandbox, held: HeldCalls): void {
  const api = providerApi(server, sandbox, held)

  api.post('/v1/customers', createCustomer)
  api.get('/v1/customers', listCustomers)
  api.get('/v1/customers/:id', retrieveCustomer)
  api.post('/v1/customers/:id', updateCustomer)
  api.delete('/v1/customers/:id', deleteCustomer)

  api.post('/v1/checkout/sessions', createSession)
  api.get('/v1/checkout/sessions', listSessions)
  api.get('/v1/checkout/sessions/:id', retrieveSession)
  api.get('/v1/checkout/sessions/:id/line_items', listSessionItems)
  api.post('/v1/checkout/sessions/:id/expire', expireSessionCall)

  api.get('/v1/payment_intents', listPaymentIntents)
  api.get('/v1/payment_intents/:id', retrieve('payment_intent'))
  api.get('/v1/charges', listCharges)
  api.get('/v1/charges/:id', retrieve('charge'))

  api.post('/v1/refunds', createRefund)
  api.get('/v1/refunds', listRefunds)
  api.get('/v1/refunds/:id', retrieveRefund)
  api.post('/v1/refunds/:id', updateRefund)
  api.post('/v1/refunds/:id/cancel', cancelRefundCall)

  api.get('/v1/events', listEvents)
  api.get('/v1/events/:id', retrieve('event'))

  api.post('/v1/webhook_endpoints', createEndpoint)
  api.get('/v1/webhook_endpoints', listEndpoints)
  api.get('/v1/webhook_endpoints/:id', retrieve('webhook_endpoint'))
  api.post('/v1/webhook_endpoints/:id', updateEndpoint)
  api.delete('/v1/webhook_endpoints/:id', deleteEndpoint)

  api.get('/v1/balance', retrieveBalance)
  api.get('/v1/balance_transactions', listBalanceTransactions)
  api.get('/v1/balance_transactions/:id', retrieve('balance_transaction'))
}
