import type { ComponentChildren } from 'preact'
import { useLook } from './look.ts'
import { useOwnPasskeys } from './own-account.ts'
import { SUPPORTED } from './passkey-support.ts'

/** Lets owners remove a passkey, and with `children` add one; `version` changes when one was added. */
export function Passkeys({ version, children }: { version: number; children?: ComponentChildren }) {
  const { api, words, time, Section, Entries } = useLook()
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
