import { validationFailed } from '@plinth/kit/problems'
import { requireObject } from '../protocol/operations.ts'
import {
  answerChallenge,
  failPayment,
  type PaymentOutcome,
  payByBank,
  payByCard,
  settlePayment,
} from '../resources/checkout/paying.ts'
import { TEST_CARDS } from '../resources/money/payment-methods.ts'
import { change, type Sandbox } from '../state/sandbox.ts'

const GOOD_CARD = '4242424242424242'
const DECLINED_CARD = '4000000000000002'
const GOOD_ACCOUNT = '000123456789'

/** The documents write card and account numbers in groups of digits. */
const ungrouped = (number: string) => number.replaceAll(/\s/g, '')

export const payWithCard = (sandbox: Sandbox, id: string, card = GOOD_CARD) =>
  pay(sandbox, id, (inside) => payByCard(inside, id, ungrouped(card)))

export function declineCard(sandbox: Sandbox, id: string, card = DECLINED_CARD) {
  if (!TEST_CARDS[ungrouped(card)]?.error)
    throw validationFailed(['card: must be a card that is declined'])
  return payWithCard(sandbox, id, card)
}

export const answerBank = (sandbox: Sandbox, id: string, accepted: boolean) =>
  pay(sandbox, id, (inside) => answerChallenge(inside, id, accepted))

type Debit = { account?: string; delaySeconds?: number | null }

export const debitSession = (sandbox: Sandbox, id: string, debit: Debit = {}) =>
  pay(sandbox, id, (inside) =>
    payByBank(inside, id, ungrouped(debit.account ?? GOOD_ACCOUNT), debit.delaySeconds),
  )

/** The outcome, and the session after it. */
function pay(sandbox: Sandbox, id: string, work: (inside: Sandbox) => Promise<PaymentOutcome>) {
  return change(sandbox, async (inside) => {
    const outcome = await work(inside)
    return { outcome, session: await requireObject(inside, 'checkout.session', id) }
  })
}

export const settleDebit = async (sandbox: Sandbox, id: string) =>
  settlePayment(sandbox, await intentOf(sandbox, id))

export const failDebit = async (sandbox: Sandbox, id: string) =>
  failPayment(sandbox, await intentOf(sandbox, id))

async function intentOf(sandbox: Sandbox, sessionId: string): Promise<string> {
  const { payment_intent: id } = await requireObject(sandbox, 'checkout.session', sessionId)
  if (id === null) throw validationFailed(['id: must be a session that was paid by bank debit'])
  return id
}
