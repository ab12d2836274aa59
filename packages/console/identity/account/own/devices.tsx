import { browserIn } from '../../../shared/account/browser-name.ts'
import { useOwnSessions } from '../../../shared/account/profile/own-sessions.ts'
import { ConfirmButton } from '../../../shared/components/button.tsx'
import { Badge, Skeleton } from '../../../shared/components/page.tsx'
import { Failure, Section } from '../parts.tsx'
import { filled, texts, timeIn } from '../texts/texts.ts'
import { session } from '../ways-in/session.ts'

export function Devices() {
  const { sessions, end } = useOwnSessions(session.api)
  return (
    <Section title={texts.devicesTitle}>
      <p>{texts.devicesAbout}</p>
      {sessions.loading && <Skeleton label={texts.loading} />}
      <ul class="devices">
        {sessions.body?.map(({ id, address, userAgent, lastUsedAt, current }) => (
          <li key={id} class="row apart">
            <span>
              {nameOf(userAgent)} · {address}
              <br />
              <span class="soft small">{filled(texts.lastUsed, { date: timeIn(lastUsedAt) })}</span>
            </span>
            {current ? (
              <Badge tone="good">{texts.thisDevice}</Badge>
            ) : (
              <ConfirmButton
                small
                kind="danger"
                subject={nameOf(userAgent)}
                question={texts.deviceEndAsk}
                yes={texts.signOut}
                no={texts.cancel}
                onClick={() => end.run(id)}
              >
                {texts.signOut}
              </ConfirmButton>
            )}
          </li>
        ))}
      </ul>
      <Failure reply={sessions.refusal ?? end.refusal} />
    </Section>
  )
}

function nameOf(userAgent: string | null): string {
  return browserIn(userAgent).name ?? (userAgent?.split('/')[0] || texts.unknownBrowser)
}
