import type { UserDetails } from '@plinth/client'
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Reply } from '../../api/api.ts'
import { useAction, useLoad } from '../../api/use-reply.ts'
import { Button, ConfirmButton } from '../../components/button.tsx'
import { Facts } from '../../components/facts.tsx'
import { Field } from '../../components/form.tsx'
import { Badge, Card } from '../../components/page.tsx'
import { Loaded, Refusal, Success } from '../../components/reply.tsx'
import { ADMIN_ROLE, dateText } from '../../wording.ts'
import type { Session } from '../session/session.ts'
import { RoleBadges } from '../session/session-bar.tsx'
import { blockedBy, SessionsOfUser } from './user-access.tsx'

/** Makes a change and shows its effect. */
export type Act = {
  /** `effect` is shown once the call has succeeded. */
  run(call: () => Promise<Reply>, effect: string): unknown
  busy: boolean
  reason: string
}

export type MoreActions = (props: { user: UserDetails; act: Act }) => ComponentChildren

type Props = {
  session: Session
  id: number | string
  actions: MoreActions | undefined
  lists: MoreActions | undefined
  /** Reloads the list that the card was opened from, if it is beside one. */
  changed?(): unknown
  close?(): void
}

/** What an administrator can do with one account. Each change shows its effect. */
export function UserCard({ session, id, actions, lists, changed, close }: Props) {
  const card = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (close) card.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  const user = useLoad(() => session.api.get('/api/users/{id}', { path: { id } }), [id])
  const reason = useSignal('')
  const effect = useSignal('')
  const change = useAction(
    (call: () => Promise<Reply>) => call(),
    async () => {
      await user.reload()
      await changed?.()
    },
  )
  const act: Act = {
    busy: change.busy,
    reason: reason.value.trim(),
    async run(call, done) {
      effect.value = done
      await change.run(call)
    },
  }
  return (
    <div ref={card}>
      <Card
        title={
          <span class="cut" title={user.body?.username}>
            {user.body?.username ?? 'Account'}
          </span>
        }
        about="Disabling an account ends all its sessions; role changes take effect at once."
        actions={close && <Button small icon="cross" label="Close" onClick={close} />}
      >
        <Loaded of={user}>
          {(body) => (
            <>
              <About user={body} />
              <Reason of={reason} />
              <StateButtons session={session} user={body} act={act} />
              {actions?.({ user: body, act })}
              <Refusal reply={change.refusal} />
              {change.reply?.ok && <Success>{effect.value}</Success>}
              <SessionsOfUser
                session={session}
                user={body}
                version={JSON.stringify(body)}
                reason={act.reason}
              />
              {lists?.({ user: body, act })}
            </>
          )}
        </Loaded>
      </Card>
    </div>
  )
}

function About({ user }: { user: UserDetails }) {
  return (
    <Facts
      of={{
        'E-mail': (
          <span class="row">
            <span class="cut" title={user.email}>
              {user.email}
            </span>
            <Badge tone={user.emailVerified ? 'good' : 'plain'}>
              {user.emailVerified ? 'verified' : 'not verified'}
            </Badge>
          </span>
        ),
        Roles: user.roles.length > 0 ? <RoleBadges roles={user.roles} /> : null,
        Since: dateText(user.createdAt),
        'Last seen': user.lastSeenOn ?? 'never',
        Password: user.passwordChangeRequired ? 'must be changed at the next login' : undefined,
        'Erased on': user.deletesAt
          ? `${dateText(user.deletesAt)}, asked for by ${user.deletionBy === 'user' ? 'the user' : 'an administrator'}`
          : undefined,
      }}
    />
  )
}

function Reason({ of }: { of: Signal<string> }) {
  return (
    <Field
      label="Reason"
      name="reason"
      bind={of}
      maxLength={500}
      wide
      hint="Required for each change; the audit records it."
    />
  )
}

function StateButtons({ session, user, act }: { session: Session; user: UserDetails; act: Act }) {
  if (user.deletesAt !== null) return null
  const { username, enabled, roles } = user
  const isAdmin = roles.includes(ADMIN_ROLE)
  const others = roles.filter((role) => role !== ADMIN_ROLE)
  const change = (to: { enabled?: boolean; roles?: string[] }) => {
    const body = { ...to, reason: act.reason }
    const effect = effectOf({ username, enabled, roles, ...to })
    return act.run(
      () => session.api.patch('/api/users/{id}', { path: { id: user.id }, json: body }),
      effect,
    )
  }
  return (
    <div class="row">
      <ConfirmButton
        kind={enabled ? 'danger' : 'plain'}
        question={enabled ? `Disable ${shortened(username)}?` : `Enable ${shortened(username)}?`}
        blocked={blockedBy(act.reason)}
        busy={act.busy}
        onClick={() => change({ enabled: !enabled })}
      >
        {enabled ? 'Disable' : 'Enable'}
      </ConfirmButton>
      <ConfirmButton
        kind={isAdmin ? 'danger' : 'plain'}
        question={isAdmin ? 'Remove the role?' : 'Give full access?'}
        blocked={blockedBy(act.reason)}
        busy={act.busy}
        onClick={() => change({ roles: isAdmin ? others : [...others, ADMIN_ROLE] })}
      >
        {isAdmin ? 'Remove administrator role' : 'Make an administrator'}
      </ConfirmButton>
    </div>
  )
}

/** A name can have 50 characters, but the question must fit on one line. */
export function shortened(name: string): string {
  return name.length > 24 ? `${name.slice(0, 23)}…` : name
}

function effectOf(user: { username: string; enabled: boolean; roles: string[] }): string {
  const rank = user.roles.includes(ADMIN_ROLE) ? 'an administrator' : 'a user'
  return `${user.username} is ${rank} and ${user.enabled ? 'may sign in' : 'cannot sign in'}.`
}
