import type { Api } from '../../api/api.ts'
import { baseUrl } from '../../api/base-url.ts'
import type { AccountReplies } from '../../api/shared-operations.ts'
import { useAction } from '../../api/use-reply.ts'
import type { Values } from '../../components/form.tsx'
import { Success } from '../../components/reply.tsx'
import { useLook } from './look.ts'
import { filled } from './words.ts'

/** Only the mailbox proves whose account without a password it is. */
type ChangeProps = { api: Api<AccountReplies>; changed(): unknown }

export function Password({ api, exists, changed }: ChangeProps & { exists: boolean }) {
  const { words, Section } = useLook()
  return (
    <Section title={words.password}>
      {exists ? (
        <Change api={api} changed={changed} />
      ) : (
        <>
          <p>{words.noPassword}</p>
          <p>
            <a href={`${baseUrl}/account/#forgot`}>{words.choosePassword}</a>
          </p>
        </>
      )}
    </Section>
  )
}

function Change({ api, changed }: ChangeProps) {
  const { words, passwordMinLength, Ask } = useLook()
  const change = useAction(
    (values: Values) => api.post('/api/users/me/password', { json: values }),
    (reply) => reply?.ok && changed(),
  )
  return (
    <>
      <Ask
        key={change.successes}
        label={words.passwordChange}
        fields={[
          {
            label: words.currentPassword,
            name: 'currentPassword',
            type: 'password',
            autocomplete: 'current-password',
          },
          {
            label: words.newPassword,
            name: 'newPassword',
            type: 'password',
            autocomplete: 'new-password',
            hint: filled(words.passwordHint, { count: passwordMinLength }),
          },
        ]}
        refused={{ currentPassword: words.currentRefused, newPassword: words.passwordRefused }}
        action={change}
        send={words.save}
        plain
      />
      {change.reply?.ok && <Success>{words.passwordSaved}</Success>}
    </>
  )
}
