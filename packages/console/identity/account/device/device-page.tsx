import { useAction } from '../../../shared/api/use-reply.ts'
import { authorization, openByUserCode } from '../authorization/authorization.ts'
import { SignInPage } from '../authorization/sign-in-page.tsx'
import { Ask, Heading } from '../parts.tsx'
import { texts } from '../texts/texts.ts'

/** The address that a device shows may have its code; the user still has to compare and send it. */
const given = new URLSearchParams(location.search).get('code') ?? ''

/** For a device without a keyboard or a browser: its code is typed here, and the same steps follow. */
export function DevicePage() {
  const open = useAction(({ userCode = '' }: Record<string, string>) => openByUserCode(userCode))
  if (authorization.value) return <SignInPage />
  return (
    <>
      <Heading>{texts.deviceTitle}</Heading>
      <p>{texts.deviceAbout}</p>
      <Ask
        label={texts.deviceTitle}
        fields={[
          { label: texts.deviceCode, name: 'userCode', value: given, placeholder: 'XXXX-XXXX' },
        ]}
        refused={{ userCode: texts.deviceCodeRefused }}
        meanings={{ USER_CODE_UNKNOWN: texts.deviceCodeRefused }}
        action={open}
        send={texts.prove}
      />
    </>
  )
}
