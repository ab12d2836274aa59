import { useSignal } from '@preact/signals'
import { filled } from '../../shared/account/own/words.ts'
import { registeredHere } from '../../shared/account/registered-here.ts'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Skeleton } from '../../shared/components/page.tsx'
import { api } from './account.ts'
import { Confirm, Done, Failure, Heading } from './parts.tsx'
import { dateIn, texts, timeIn } from './texts/texts.ts'

/** Shows which account it is and since when: someone else may have entered the reader's address. */
export function Verify({ token }: { token: string }) {
  const deny = useAction(() => api.post('/api/auth/not-me', { json: { token } }))
  const isOwner = useSignal(false)
  const pending = useLoad(async () => {
    const reply = await api.post('/api/auth/verify-email/pending', { json: { token } })
    isOwner.value = reply.ok && (await registeredHere(reply.body.email))
    return reply
  }, [token])
  if (deny.reply?.ok) return <Done title={texts.denied} about={texts.deniedAbout} />
  if (pending.loading) return <Skeleton label={texts.loading} />
  if (!pending.body)
    return (
      <>
        <Heading>{texts.verifyTitle}</Heading>
        <Failure reply={pending.refusal} again="#resend" token={token} />
      </>
    )
  const { username, email, createdAt } = pending.body
  const date = dateIn(createdAt)
  return (
    <Confirm
      title={texts.verifyTitle}
      about={filled(texts.verifyAbout, { username, email, date })}
      {...(!isOwner.value && { note: texts.notYours })}
      send={texts.confirm}
      done={texts.verified}
      run={() => api.post('/api/auth/verify-email', { json: { token } })}
      token={token}
      again="#resend"
    >
      {!isOwner.value && (
        <Button kind="danger" busy={deny.busy} onClick={() => deny.run()}>
          {texts.deny}
        </Button>
      )}
      <Failure reply={deny.refusal} again="#resend" token={token} />
    </Confirm>
  )
}

export function NewAddress({ token }: { token: string }) {
  const pending = useLoad(
    () => api.post('/api/users/me/email/pending', { json: { token } }),
    [token],
  )
  if (pending.loading) return <Skeleton label={texts.loading} />
  if (!pending.body)
    return (
      <>
        <Heading>{texts.emailTitle}</Heading>
        <Failure reply={pending.refusal} again="#home" token={token} />
      </>
    )
  const { username, email, createdAt } = pending.body
  return (
    <Confirm
      title={texts.emailTitle}
      about={filled(texts.emailAbout, { username, email, time: timeIn(createdAt) })}
      note={texts.emailNotYours}
      send={texts.confirm}
      done={texts.emailDone}
      run={() => api.post('/api/users/me/email/confirm', { json: { token } })}
      token={token}
      again="#home"
    />
  )
}
