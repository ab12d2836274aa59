import type { Api } from '../../api/api.ts'
import type { AccountReplies } from '../../api/shared-operations.ts'
import { browserIn } from '../browser-name.ts'
import { useLook } from './look.ts'
import { useOwnSessions } from './own-account.ts'
import type { Words } from './words.ts'

/** Where the account is signed in. `version` changes when other sessions may have ended. */
type Props = { api: Api<AccountReplies>; version?: number }

export function Sessions({ api, version = 0 }: Props) {
  const { words, time, Section, Entries } = useLook()
  const { sessions, end } = useOwnSessions(api, version)
  return (
    <Section title={words.devicesTitle} about={words.devicesAbout}>
      <Entries
        of={sessions}
        caption={words.devicesTitle}
        name={({ userAgent }) => browserText(userAgent, words)}
        facts={[
          { title: words.networkAddress, of: ({ address }) => address },
          { title: words.sessionBegan, of: ({ createdAt }) => time(createdAt) },
          { title: words.lastUsed, of: ({ lastUsedAt }) => time(lastUsedAt) },
        ]}
        kept={({ current }) => (current ? words.thisDevice : undefined)}
        remove={{ label: words.signOut, question: words.deviceEndAsk, action: end }}
      />
    </Section>
  )
}

function browserText(userAgent: string | null, { unknownBrowser }: Words): string {
  const { name, version = '' } = browserIn(userAgent)
  return name ? `${name} ${version}`.trim() : userAgent?.split('/')[0] || unknownBrowser
}
