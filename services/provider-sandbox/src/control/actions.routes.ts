import { type Server, validationFailed } from '@plinth/kit'
import { Type } from 'typebox'
import { failPayment, payByBank, settlePayment } from '../bank-debits.ts'
import { answerChallenge, payByCard } from '../card-payments.ts'
import { expireSession, requireSession } from '../checkout-sessions.ts'
import { TEST_CARDS } from '../payment-methods.ts'
import { cancelRefund, failRefund, settleRefund } from '../refunds.ts'
import { change, type Sandbox } from '../sandbox.ts'
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

const GOOD_CARD = '4242424242424242'
const DECLINED_CARD = '4000000000000002'
const GOOD_ACCOUNT = '000123456789'

type Action = (sandbox: Sandbox, id: string) => Promise<unknown>

/** What a customer, a bank or the provider's own people would do. */
export function actionRoutes(server: Server, { sandbox }: Controls): void {
  const act = (path: string, action: Action) =>
    server.post(`/sandbox/api/${path}`, {
      schema: { params: ById },
      handler: ({ params }) => change(sandbox, (inside) => action(inside, params.id)),
    })

  server.post('/sandbox/api/sessions/:id/pay', {
    schema: { params: ById, body: CardBody },
    handler: ({ params, body }) => payWith(sandbox, params.id, body?.card ?? GOOD_CARD),
  })
  server.post('/sandbox/api/sessions/:id/decline', {
    schema: { params: ById, body: CardBody },
    handler: ({ params, body }) => {
      const card = body?.card ?? DECLINED_CARD
      if (!TEST_CARDS[card]?.error) throw validationFailed(['card: must be one that is declined'])
      return payWith(sandbox, params.id, card)
    },
  })
  server.post('/sandbox/api/sessions/:id/challenge', {
    schema: { params: ById, body: ChallengeBody },
    handler: ({ params, body }) =>
      change(sandbox, async (inside) => {
        const outcome = await answerChallenge(inside, params.id, body.accepted)
        return { outcome, session: await requireSession(inside, params.id) }
      }),
  })
  server.post('/sandbox/api/sessions/:id/bank-debit', {
    schema: { params: ById, body: BankDebitBody },
    handler: ({ params, body }) =>
      change(sandbox, async (inside) => {
        const account = body?.account ?? GOOD_ACCOUNT
        const outcome = await payByBank(inside, params.id, account, body?.delaySeconds)
        return { outcome, session: await requireSession(inside, params.id) }
      }),
  })
  act('sessions/:id/settle', async (inside, id) =>
    settlePayment(inside, await intentOf(inside, id)),
  )
  act('sessions/:id/fail', async (inside, id) => failPayment(inside, await intentOf(inside, id)))
  act('sessions/:id/expire', expireSession)

  act('refunds/:id/succeed', settleRefund)
  act('refunds/:id/fail', failRefund)
  act('refunds/:id/cancel', cancelRefund)
}

function payWith(sandbox: Sandbox, sessionId: string, card: string) {
  return change(sandbox, async (inside) => {
    const outcome = await payByCard(inside, sessionId, card)
    return { outcome, session: await requireSession(inside, sessionId) }
  })
}

async function intentOf(sandbox: Sandbox, sessionId: string): Promise<string> {
  const { payment_intent: id } = await requireSession(sandbox, sessionId)
  if (id === null) throw validationFailed(['id: must be a session that was paid by bank debit'])
  return id
}
