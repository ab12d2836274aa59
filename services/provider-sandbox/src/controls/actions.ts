import { validationFailed } from '@plinth/kit'
import { requireObject } from '../protocol/objects.ts'
import {
  answerChallenge,
  failPayment,
  type PaymentOutcome,
  payByBank,
  payByCard,
  settlePayment,
} from '../resources/checkout/paying.ts'
import { expireSession } from '../resources/checkout/sessions.ts'
import { cancelRefund, failRefund, settleRefund } from '../resources/money/refunds.ts'
import { change, type Sandbox } from '../state/sandbox.ts'

const GOOD_CARD = '4242424242424242'

export const DECLINED_CARD = '4000000000000002'

const GOOD_ACCOUNT = '000123456789'

type Pay = (sandbox: Sandbox) => Promise<PaymentOutcome>

/** What came of it, and the session as it is then. */
function pay(sandbox: Sandbox, sessionId: string, work: Pay) {
  return change(sandbox, async (inside) => {
    const outcome = await work(inside)
    return { outcome, session: await requireObject(inside, 'checkout.session', sessionId) }
  })
}

export const payWithCard = (sandbox: Sandbox, id: string, card = GOOD_CARD) =>
  pay(sandbox, id, (inside) => payByCard(inside, id, card))

export const answerBank = (sandbox: Sandbox, id: string, accepted: boolean) =>
  pay(sandbox, id, (inside) => answerChallenge(inside, id, accepted))

type Debit = { account?: string; delaySeconds?: number | null }

export const debitSession = (sandbox: Sandbox, id: string, debit: Debit = {}) =>
  pay(sandbox, id, (inside) =>
    payByBank(inside, id, debit.account ?? GOOD_ACCOUNT, debit.delaySeconds),
  )

export const settleDebit = (sandbox: Sandbox, id: string) =>
  change(sandbox, async (inside) => settlePayment(inside, await intentOf(inside, id)))

export const failDebit = (sandbox: Sandbox, id: string) =>
  change(sandbox, async (inside) => failPayment(inside, await intentOf(inside, id)))

async function intentOf(sandbox: Sandbox, sessionId: string): Promise<string> {
  const { payment_intent: id } = await requireObject(sandbox, 'checkout.session', sessionId)
  if (id === null) throw validationFailed(['id: must be a session that was paid by bank debit'])
  return id
}

export const expireSessionOf = (sandbox: Sandbox, id: string) =>
  change(sandbox, (inside) => expireSession(inside, id))

export const settleRefundOf = (sandbox: Sandbox, id: string) =>
  change(sandbox, (inside) => settleRefund(inside, id))

export const failRefundOf = (sandbox: Sandbox, id: string) =>
  change(sandbox, (inside) => failRefund(inside, id))

export const cancelRefundOf = (sandbox: Sandbox, id: string) =>
  change(sandbox, (inside) => cancelRefund(inside, id))
