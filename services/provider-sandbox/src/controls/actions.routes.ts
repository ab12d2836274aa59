import { type Server, Type, validationFailed } from '@plinth/kit'
import { TEST_CARDS } from '../resources/money/payment-methods.ts'
import type { Sandbox } from '../state/sandbox.ts'
import {
  answerBank,
  cancelRefundOf,
  DECLINED_CARD,
  debitSession,
  expireSessionOf,
  failDebit,
  failRefundOf,
  payWithCard,
  settleDebit,
  settleRefundOf,
} from './actions.ts'
import type { Controls } from './controls.ts'

const ById = Type.Object({ id: Type.String() })

// A body may be left out: the usual card or account is taken.
const CardBody = Type.Union([Type.Object({ card: Type.Optional(Type.String()) }), Type.Null()])

const BankDebitBody = Type.Union([
  Type.Object({
    account: Type.Optional(Type.String()),
    delaySeconds: Type.Optional(Type.Union([Type.Integer({ minimum: 0 }), Type.Null()])),
  }),
  Type.Null(),
])

const ChallengeBody = Type.Object({ accepted: Type.Boolean() })

/** What a customer, a bank or the provider's own people would do. */
export function actionRoutes(server: Server, { sandbox }: Controls): void {
  server.post('/sandbox/api/sessions/:id/pay', {
    schema: { params: ById, body: CardBody },
    handler: ({ params, body }) => payWithCard(sandbox, params.id, body?.card),
  })
  server.post('/sandbox/api/sessions/:id/decline', {
    schema: { params: ById, body: CardBody },
    handler: ({ params, body }) => {
      const card = body?.card ?? DECLINED_CARD
      if (!TEST_CARDS[card]?.error) throw validationFailed(['card: must be one that is declined'])
      return payWithCard(sandbox, params.id, card)
    },
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
      handler: ({ params }) => action(sandbox, params.id),
    })
  act('sessions/:id/settle', settleDebit)
  act('sessions/:id/fail', failDebit)
  act('sessions/:id/expire', expireSessionOf)
  act('refunds/:id/succeed', settleRefundOf)
  act('refunds/:id/fail', failRefundOf)
  act('refunds/:id/cancel', cancelRefundOf)
}
