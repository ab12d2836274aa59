import { type Server, Type } from '@plinth/kit/http'
import { expireSession } from '../resources/checkout/sessions.ts'
import { cancelRefund, failRefund, settleRefund } from '../resources/money/refunds.ts'
import { change, type Sandbox } from '../state/sandbox.ts'
import {
  answerBank,
  debitSession,
  declineCard,
  failDebit,
  payWithCard,
  settleDebit,
} from './actions.ts'

const ById = Type.Object({ id: Type.String() })

// The body may be absent, so that a bare POST pays.
const CardBody = Type.Union([Type.Object({ card: Type.Optional(Type.String()) }), Type.Null()])

const BankDebitBody = Type.Union([
  Type.Object({
    account: Type.Optional(Type.String()),
    delaySeconds: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0, maximum: 10 ** 9 }), Type.Null()]),
    ),
  }),
  Type.Null(),
])

const ChallengeBody = Type.Object({ accepted: Type.Boolean() })

/** What a customer, a bank or the provider's staff would do. */
export function actionRoutes(server: Server, sandbox: Sandbox): void {
  server.post('/sandbox/api/sessions/:id/pay', {
    schema: { params: ById, body: CardBody },
    handler: ({ params, body }) => payWithCard(sandbox, params.id, body?.card),
  })
  server.post('/sandbox/api/sessions/:id/decline', {
    schema: { params: ById, body: CardBody },
    handler: ({ params, body }) => declineCard(sandbox, params.id, body?.card),
  })
  server.post('/sandbox/api/sessions/:id/challenge', {
    schema: { params: ById, body: ChallengeBody },
    handler: ({ params, body }) => answerBank(sandbox, params.id, body.accepted),
  })
  server.post('/sandbox/api/sessions/:id/bank-debit', {
    schema: { params: ById, body: BankDebitBody },
    handler: ({ params, body }) => debitSession(sandbox, params.id, body ?? {}),
  })

  const act = (path: string, action: (sandbox: Sandbox, id: string) => Promise<unknown>) =>
    server.post(`/sandbox/api/${path}`, {
      schema: { params: ById },
      handler: ({ params }) => change(sandbox, (inside) => action(inside, params.id)),
    })
  act('sessions/:id/settle', settleDebit)
  act('sessions/:id/fail', failDebit)
  act('sessions/:id/expire', expireSession)
  act('refunds/:id/succeed', settleRefund)
  act('refunds/:id/fail', failRefund)
  act('refunds/:id/cancel', cancelRefund)
}
