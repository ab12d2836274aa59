import type { IdentityApi } from '@plinth/client'
import type { ComponentChildren } from 'preact'
import type { Api } from '../../api/api.ts'
import { useLook } from './look.ts'
import { useOwnPasskeys } from './own-account.ts'
import { SUPPORTED } from './passkey-support.ts'

/** Lets owners remove a passkey, and with `children` add one; `version` changes when one was added. */
type Props = {
  api: Api<IdentityApi.Replies>
  version: number
  children?: ComponentChildren
}

export function Passkeys({ api, version, children }: Props) {
  const { words, time, Section, Entries } = useLook()
  const { passkeys, remove } = useOwnPasskeys(api, version)
  if (!SUPPORTED && passkeys.body?.length === 0) return null
  return (
    <Section title={words.passkeysTitle} about={words.passkeysAbout}>
      <Entries
        of={passkeys}
        caption={words.passkeysTitle}
        name={({ label }) => label}
        facts={[
          { title: words.added, of: ({ createdAt }) => time(createdAt) },
          { title: words.lastUsed, of: ({ lastUsedAt }) => time(lastUsedAt) },
        ]}
        remove={{ label: words.remove, question: words.passkeyRemoveAsk, action: remove }}
      />
      {children}
    </Section>
  )
}
