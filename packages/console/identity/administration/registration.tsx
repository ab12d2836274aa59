import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button, ConfirmButton } from '../../shared/components/button.tsx'
import { Card } from '../../shared/components/page.tsx'
import { Loaded, Refusal } from '../../shared/components/reply.tsx'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'

/** Whether people may register themselves, which applies without a restart. */
export function Registration() {
  const state = useLoad(() => session.api.get('/api/registration'))
  const change = useAction(
    (open: boolean | null) => session.api.patch('/api/registration', { json: { open } }),
    state.reload,
  )
  return (
    <Card
      title="Registration"
      about="Whether people may register themselves. A change applies at once, on every node, and is in the audit."
    >
      <Loaded of={state}>
        {({ open, setting, changedAt }) => (
          <>
            <p role="status">
              {open ? 'Open: everyone may register.' : 'Closed: only administrators create users.'}
              {changedAt !== null &&
                ` Changed ${dateText(changedAt)}; the settings say ${setting ? 'open' : 'closed'}.`}
            </p>
            <div class="row">
              <ConfirmButton
                busy={change.busy}
                question={open ? 'Refuse registrations from now on?' : 'Let everyone register?'}
                yes={open ? 'Close it' : 'Open it'}
                no="Cancel"
                onClick={() => change.run(!open)}
              >
                {open ? 'Close the registration' : 'Open the registration'}
              </ConfirmButton>
              {changedAt !== null && (
                <Button busy={change.busy} onClick={() => change.run(null)}>
                  As in the settings
                </Button>
              )}
            </div>
          </>
        )}
      </Loaded>
      <Refusal reply={change.refusal} />
    </Card>
  )
}
