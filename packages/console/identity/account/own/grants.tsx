import { ConfirmButton } from '../../../shared/components/button.tsx'
import { OWN_GRANTS, useGrants } from '../../grants/grants.ts'
import { scopeText } from '../authorization/scope-text.ts'
import { Failure, Section } from '../parts.tsx'
import { dateIn, filled, texts } from '../texts/texts.ts'
import { session } from '../ways-in/session.ts'

/** The applications that the user has given access. */
export function Grants() {
  const { grants, revoke } = useGrants(session.api, OWN_GRANTS)
  if (!grants.body?.length) return null
  return (
    <Section title={texts.grantsTitle}>
      <p>{texts.grantsAbout}</p>
      <ul class="devices">
        {grants.body.map(({ client, scopes, resources, createdAt }) => (
          <li key={client.clientId} class="row apart">
            <span>
              {client.name}
              <br />
              <span class="soft small">
                {[...scopes, ...resources].map(scopeText).join(', ')} ·{' '}
                {filled(texts.grantedOn, { date: dateIn(createdAt) })}
              </span>
            </span>
            <ConfirmButton
              small
              kind="danger"
              subject={client.name}
              question={texts.grantRevokeAsk}
              yes={texts.remove}
              no={texts.cancel}
              onClick={() => revoke.run(client.clientId)}
            >
              {texts.remove}
            </ConfirmButton>
          </li>
        ))}
      </ul>
      <Failure reply={revoke.refusal} />
    </Section>
  )
}
