import type { CheckoutSession } from '@plinth/client'
import { Button, ButtonLink } from '../family/parts/button.tsx'
import { Card } from '../family/parts/card.tsx'
import { Facts } from '../family/parts/facts.tsx'
import { Form } from '../family/parts/form.tsx'
import { Page } from '../family/parts/page.tsx'
import { faultOf, Refusal } from '../family/parts/refusal.tsx'
import { useAction } from '../family/use-reply.ts'
import { api } from './api.ts'
import { CheckoutFields } from './checkout-fields.tsx'
import { noticeCheckoutUrl } from './sandbox.ts'

export function CheckoutPage() {
  const create = useAction(async ({ amount, ...values }: Record<string, string>) => {
    const reply = await api.post<CheckoutSession>('/api/checkout/sessions', {
      ...values,
      amount: Number(amount),
    })
    if (reply.ok) noticeCheckoutUrl(reply.body.checkoutUrl)
    return reply
  })
  return (
    <Page
      title="New checkout"
      about="The business reference names the payment; the attempt reference names this try. Sending both again is safe: the open page is returned."
    >
      <Card title="What is to be paid">
        <Form label="New checkout" onSend={create.run}>
          <CheckoutFields fault={(field) => faultOf(create.reply, field)} />
          <div>
            <Button submits kind="primary" icon="card" busy={create.busy}>
              Create the checkout
            </Button>
          </div>
        </Form>
        <Refusal reply={create.refusal} />
      </Card>
      {create.reply?.ok && <CheckoutReady checkout={create.reply.body} />}
    </Page>
  )
}

function CheckoutReady({ checkout }: { checkout: CheckoutSession }) {
  return (
    <Card
      title="The checkout is open"
      about="Pay on the hosted page, then come back to the payment."
    >
      <Facts
        of={{
          Payment: <code>{checkout.paymentId}</code>,
          Session: <code>{checkout.checkoutSessionId}</code>,
        }}
      />
      <div class="row" role="status">
        <ButtonLink href={checkout.checkoutUrl} newTab kind="primary" icon="open">
          Open the hosted page
        </ButtonLink>
        <ButtonLink href={`#/payments/${checkout.paymentId}`} icon="list">
          Watch the payment
        </ButtonLink>
      </div>
    </Card>
  )
}
