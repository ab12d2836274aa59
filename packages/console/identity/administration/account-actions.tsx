import { blockedBy } from '../../shared/account/administration/user-access.tsx'
import { type MoreActions, shortened } from '../../shared/account/administration/user-card.tsx'
import { useLoad } from '../../shared/api/use-reply.ts'
import { ConfirmButton } from '../../shared/components/button.tsx'
import { Notice } from '../../shared/components/page.tsx'
import { saveFile } from '../../shared/files/save-file.ts'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'

type Props = Parameters<MoreActions>[0]

/** Actions on mails, passwords, the second factor, data and the deletion of an account; each needs a reason. */
export const accountActions: MoreActions = (props) => (
  <>
    <SecondFactor {...props} />
    <Verification {...props} />
    <AccountButtons {...props} />
  </>
)

type Change = 'password-reset' | 'require-password-change' | 'deletion/cancel'

function AccountButtons({ user, act }: Props) {
  const { api } = session
  const { id, username, deletesAt } = user
  const asked = { blocked: blockedBy(act.reason), busy: act.busy }
  const call = { path: { id }, json: { reason: act.reason } }
  const post = (action: Change, effect: string) => () =>
    act.run(() => api.post(`/api/users/{id}/${action}`, call), effect)
  const exportData = async () => {
    const reply = await api.post('/api/users/{id}/export', call)
    if (reply.ok) saveFile(reply.content, `user-${id}.json`)
    return reply
  }
  const erase = () => api.delete('/api/users/{id}', call)
  return (
    <div class="row">
      {deletesAt === null && (
        <>
          <ConfirmButton
            kind="danger"
            question="Invalidate the password, sessions and passkeys?"
            {...asked}
            blocked={
              user.enabled
                ? asked.blocked
                : 'Enable the account first: a disabled one gets no mail.'
            }
            onClick={post('password-reset', `A mail lets ${username} choose a new password.`)}
          >
            Reset the password
          </ConfirmButton>
          <ConfirmButton
            question="Ask for a new one at the next login?"
            {...asked}
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
        {...asked}
        onClick={() => act.run(exportData, `The data of ${username} is saved as user-${id}.json.`)}
      >
        Export the data
      </ConfirmButton>
      {deletesAt === null ? (
        <ConfirmButton
          kind="danger"
          question={`Erase ${shortened(username)} and all data?`}
          {...asked}
          onClick={() => act.run(erase, `${username} can no longer sign in and will be erased.`)}
        >
          Delete
        </ConfirmButton>
      ) : (
        <ConfirmButton
          question={`Keep it after ${dateText(deletesAt)}?`}
          {...asked}
          onClick={post('deletion/cancel', `The account ${username} is kept.`)}
        >
          Cancel the erasure
        </ConfirmButton>
      )}
    </div>
  )
}

function Verification({ user, act }: Props) {
  if (!user.enabled || user.emailVerified) return null
  const send = () =>
    session.api.post('/api/users/{id}/verify-email', {
      path: { id: user.id },
      json: { reason: act.reason },
    })
  return (
    <div class="row">
      <ConfirmButton
        question={`Send a mail to ${shortened(user.email)}?`}
        blocked={blockedBy(act.reason)}
        busy={act.busy}
        onClick={() => act.run(send, `A mail lets ${user.username} verify the address.`)}
      >
        Send the verification mail again
      </ConfirmButton>
    </div>
  )
}

/** For a user who has lost the authenticator and the recovery codes. */
function SecondFactor({ user, act }: Props) {
  const path = { id: user.id }
  const factor = useLoad(
    () => session.api.get('/api/users/{id}/totp', { path, silent: true }),
    [path.id, user],
  )
  if (!factor.body?.secondFactor) return null
  const { removesAt } = factor.body
  if (removesAt !== null)
    return (
      <Notice>
        <p>The second factor is removed on {dateText(removesAt)}, unless it is used before.</p>
      </Notice>
    )
  const remove = () =>
    session.api.delete('/api/users/{id}/totp', { path, json: { reason: act.reason } })
  return (
    <div class="row">
      <ConfirmButton
        kind="danger"
        question="Remove it after the delay?"
        blocked={blockedBy(act.reason)}
        busy={act.busy}
        onClick={() =>
          act.run(
            remove,
            `${user.username} was told by mail; using the factor cancels the removal.`,
          )
        }
      >
        Remove the second factor
      </ConfirmButton>
    </div>
  )
}
