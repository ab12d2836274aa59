import type { IdentityApi } from '@plinth/client'
import type { ComponentChildren } from 'preact'
import type { Api } from '../../api/api.ts'
import { faultOf } from '../../components/form.tsx'
import { useLook } from './look.ts'
import { useProof } from './own-account.ts'

type Props = {
  api: Api<IdentityApi.Replies>
  /** Whether the account is known to have a second factor. */
  secondFactor?: boolean
  proved(): unknown
  buttons?: ComponentChildren
}

/** Asks for the password once more, before a change that requires a fresh proof. */
export function Proof({ api, secondFactor = false, proved, buttons }: Props) {
  const { words, Ask } = useLook()
  const prove = useProof(api, proved)
  // It may have been turned on since this page was opened.
  const asksFactor = secondFactor || faultOf(prove.reply, 'code') !== undefined
  const factor = {
    label: words.factor,
    name: 'code',
    hint: words.factorHint,
    autocomplete: 'one-time-code',
  } as const
  return (
    <Ask
      key={prove.successes}
      label={words.proveTitle}
      fields={[
        {
          label: words.password,
          name: 'password',
          type: 'password',
          autocomplete: 'current-password',
        },
        ...(asksFactor ? [factor] : []),
      ]}
      refused={{ password: words.currentRefused, code: words.factorRefused }}
      action={prove}
      send={words.prove}
      buttons={buttons}
    />
  )
}
