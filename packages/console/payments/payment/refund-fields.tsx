import { Field } from '../../family/parts/field.tsx'

const REASONS = [
  { value: '', label: 'Not given' },
  { value: 'REQUESTED_BY_CUSTOMER', label: 'Requested by the customer' },
  { value: 'DUPLICATE', label: 'Duplicate' },
  { value: 'FRAUDULENT', label: 'Fraudulent' },
]

export function RefundFields(props: {
  left: number
  reference: string
  fault(field: string): string | undefined
}) {
  return (
    <div class="columns">
      <Field
        label="Amount in minor units"
        name="amount"
        optional
        inputMode="numeric"
        hint={`Left blank, everything that is left: ${props.left}.`}
        fault={props.fault('amount')}
      />
      <Field
        label="Reason"
        name="reason"
        options={REASONS}
        optional
        fault={props.fault('reason')}
      />
      <Field
        label="Reference"
        name="reference"
        value={props.reference}
        hint="Sent twice, it refunds once."
        fault={props.fault('reference')}
      />
    </div>
  )
}
