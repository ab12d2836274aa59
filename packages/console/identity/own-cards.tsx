import { useSignal } from '@preact/signals'
import { Grants } from '../shared/account/own/grants.tsx'
import { Identities } from '../shared/account/own/identities.tsx'
import { OwnData } from '../shared/account/own/own-data.tsx'
import { english, filled } from '../shared/account/own/words.ts'
import { baseUrl } from '../shared/api/base-url.ts'
import { Success } from '../shared/components/reply.tsx'
import { dateText } from '../shared/wording.ts'
import { session } from './session.ts'

/** What a profile has in this service only. */
export function OwnCards() {
  const erasedAt = useSignal<string | undefined>(undefined)
  return (
    <>
      <Identities api={session.api}>
        {() => (
          <p>
            <a href={`${baseUrl}/account/`}>Connect one on your account page</a>
          </p>
        )}
      </Identities>
      <Grants api={session.api} scopeText={(scope) => scope} />
      <OwnData
        api={session.api}
        erased={(at) => {
          erasedAt.value = at
        }}
      />
      {erasedAt.value !== undefined && (
        <Success>
          {filled(english.erased, { date: dateText(erasedAt.value) })}. {english.erasedAbout}
        </Success>
      )}
    </>
  )
}
