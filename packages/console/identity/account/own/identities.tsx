import type { IdentityApi } from '@plinth/client'
import { useAction, useLoad } from '../../../shared/api/use-reply.ts'
import { ConfirmButton } from '../../../shared/components/button.tsx'
import { api } from '../account.ts'
import { Failure, Section } from '../parts.tsx'
import { dateIn, filled, texts } from '../texts/texts.ts'
import { linked } from '../ways-in/provider-return.ts'
import { session } from '../ways-in/session.ts'
import { ConnectButtons } from './connect-buttons.tsx'

type Own = IdentityApi.Replies['GET /api/users/me/identities']
type Providers = IdentityApi.Replies['GET /api/auth/providers']

const PATH = '/api/users/me/identities'

/** The accounts at providers that the user can sign in with. */
export function Identities() {
  const identities = useLoad<Own>(() => session.api.get(PATH), [linked.value])
  const providers = useLoad<Providers>(() => api.get('/api/auth/providers', { open: true }))
  const remove = useAction((id: number) => session.api.delete(`${PATH}/${id}`), identities.reload)
  const nameOf = (provider: string) =>
    providers.body?.find(({ id }) => id === provider)?.name ?? provider
  const own = identities.body ?? []
  const others = (providers.body ?? []).filter(({ id }) => own.every((one) => one.provider !== id))
  if (own.length === 0 && others.length === 0) return null
  return (
    <Section title={texts.identitiesTitle}>
      <p>{texts.identitiesAbout}</p>
      <ul class="devices" hidden={own.length === 0}>
        {own.map(({ id, provider, email, createdAt, lastUsedAt }) => (
          <li key={id} class="row apart">
            <span>
              {[nameOf(provider), email].filter((part) => part !== null).join(' · ')}
              <br />
              <span class="soft small">
                {filled(texts.added, { date: dateIn(createdAt) })} ·{' '}
                {filled(texts.lastUsed, { date: dateIn(lastUsedAt) })}
              </span>
            </span>
            <ConfirmButton
              small
              kind="danger"
              subject={nameOf(provider)}
              question={texts.identityRemoveAsk}
              yes={texts.remove}
              no={texts.cancel}
              onClick={() => remove.run(id)}
            >
              {texts.remove}
            </ConfirmButton>
          </li>
        ))}
      </ul>
      <Failure reply={remove.refusal} meanings={{ LAST_SIGN_IN_METHOD: texts.lastWayIn }} />
      <ConnectButtons providers={others} connected={identities.reload} />
    </Section>
  )
}
