import { useSignal } from '@preact/signals'
import { useAction } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Form, type Values } from '../../shared/components/form.tsx'
import { Card } from '../../shared/components/page.tsx'
import { Success } from '../../shared/components/reply.tsx'
import { ADMIN_ROLE, roleText, USER_ROLE } from '../../shared/wording.ts'
import { session } from '../session.ts'

/** Only the owner ever knows the password: they choose it through a mail. */
export function CreateUser({ created }: { created(): void }) {
  const open = useSignal(false)
  const create = useAction(
    ({ role, ...values }: Values) =>
      session.api.post('/api/users', {
        json: {
          ...values,
          roles: role === ADMIN_ROLE ? [ADMIN_ROLE, USER_ROLE] : [USER_ROLE],
        },
      }),
    (reply) => reply?.ok && created(),
  )
  return (
    <>
      <div class="row">
        <Button
          icon="people"
          expanded={open.value}
          onClick={() => {
            open.value = !open.value
          }}
        >
          Create a user
        </Button>
      </div>
      {open.value && (
        <Card
          title="Create a user"
          about="A mail goes to the address, with a code and a link to choose a password."
        >
          <Form
            label="Create a user"
            send="Create and send the mail"
            kind="primary"
            action={create}
            round={create.successes}
            fields={[
              { label: 'Username', name: 'username', maxLength: 50 },
              { label: 'E-mail', name: 'email', type: 'email' },
              {
                label: 'Role',
                name: 'role',
                options: [USER_ROLE, ADMIN_ROLE].map((role) => ({
                  value: role,
                  label: roleText(role),
                })),
                value: USER_ROLE,
              },
              { label: 'Reason', name: 'reason', maxLength: 500 },
            ]}
          />
          {create.reply?.ok && (
            <Success>
              {create.reply.body.username} was created; a mail to {create.reply.body.email} is on
              its way.
            </Success>
          )}
        </Card>
      )}
    </>
  )
}
