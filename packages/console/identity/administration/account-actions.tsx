import { type MoreActions, shortened } from '../../shared/account/administration/user-card.tsx'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { saveFile } from '../../shared/files/save-file.ts'
import { dateText } from '../../shared/wording.ts'

/** Passwords, data and the end of an account; most of them ask for a reason. */
export const accountActions: MoreActions = ({ session, user, act }) => {
  const { api } = session
  const { id, username, deletesAt } = user
  const blocked = act.reason === '' && 'Give a reason first.'
  const because = { reason: act.reason }
  const path = `/api/users/${id}`
  const post = (rest: string, effect: string) => () =>
    act.run(() => api.post(`${path}/${rest}`, act.reason === '' ? {} : because), effect)
  const exportData = async () => {
    const reply = await api.post(`${path}/export`, because)
    if (reply.ok) saveFile(reply.content, `user-${id}.json`)
    return reply
  }
  const erase = () => api.delete(path, { json: because })
  return (
    <div class="row">
      {deletesAt === null && (
        <>
          <ConfirmButton
            kind="danger"
            question="End the password, sessions and passkeys?"
            busy={act.busy}
            onClick={post('password-reset', `A mail lets ${username} choose a new password.`)}
          >
            Reset the password
          </ConfirmButton>
          <ConfirmButton
            question="Ask for a new one at the next login?"
            blocked={blocked}
            busy={act.busy}
            onClick={post(
              'require-password-change',
              `${username} must choose a new password at the next login.`,
            )}
          >
            Require a new password
          </ConfirmButton>
        </>
      )}
      <ConfirmButton
        question="Export all data of this user?"
        blocked={blocked}
        busy={act.busy}
        onClick={() => act.run(exportData, `The data of ${username} is saved as user-${id}.json.`)}
      >
        Export the data
      </ConfirmButton>
      {deletesAt === null ? (
        <ConfirmButton
          kind="danger"
          question={`Erase ${shortened(username)} and all data?`}
          blocked={blocked}
          busy={act.busy}
          onClick={() => act.run(erase, `${username} cannot sign in any more and will be erased.`)}
        >
          Delete
        </ConfirmButton>
      ) : (
        <ConfirmButton
          question={`Keep it after ${dateText(deletesAt)}?`}
          busy={act.busy}
          onClick={post('deletion/cancel', `${username} stays.`)}
        >
          Cancel the erasure
        </ConfirmButton>
      )}
    </div>
  )
}
