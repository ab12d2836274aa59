import { useSignal } from '@preact/signals'
import { RecoveryCodes } from '../../../shared/account/recovery-codes.tsx'
import { useLoad } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { CopyButton, QrCode } from '../../../shared/components/code.tsx'
import { Notice } from '../../../shared/components/page.tsx'
import { Ask, Failure, Section } from '../parts.tsx'
import { dateIn, filled, texts } from '../texts/texts.ts'
import { session, useOwnAction } from './session.ts'

type Values = Record<string, string>
type Enrolment = { secret: string; uri: string }

const CODE = {
  label: texts.factor,
  name: 'code',
  autocomplete: 'one-time-code',
} as const

type Props = { on: boolean; since: string | null; changed(): void }

export function SecondFactor({ on, since, changed }: Props) {
  const codes = useSignal<string[]>([])
  const show = (made: string[]) => {
    codes.value = made
  }
  const kept = () => {
    codes.value = []
    changed()
  }
  return (
    <Section title={texts.factorTitle}>
      {codes.value.length > 0 ? (
        <KeepCodes codes={codes.value} onKept={kept} />
      ) : on ? (
        <TurnedOn since={since} onCodes={show} onRemoved={changed} />
      ) : (
        <Enrol onCodes={show} />
      )}
    </Section>
  )
}

function Enrol({ onCodes }: { onCodes(codes: string[]): void }) {
  const enrol = useOwnAction(() => session.api.post<Enrolment>('/api/users/me/totp'))
  const confirm = useOwnAction(
    (values: Values) => session.api.post('/api/users/me/totp/confirm', values),
    (reply) => reply?.ok && onCodes(reply.body.recoveryCodes),
  )
  const begun = enrol.reply?.ok ? (enrol.reply.body as Enrolment) : undefined
  if (!begun)
    return (
      <>
        <p>{texts.factorOff}</p>
        <div class="row">
          <Button kind="primary" busy={enrol.busy} onClick={() => enrol.run()}>
            {texts.factorBegin}
          </Button>
        </div>
        <Failure reply={enrol.refusal} />
      </>
    )
  return (
    <>
      <p>{texts.factorScan}</p>
      <QrCode text={begun.uri} label={texts.qrLabel} />
      <div class="row">
        <code>{begun.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code>
        <CopyButton
          text={() => begun.secret}
          label={texts.copy}
          copied={texts.copied}
          notCopied={texts.notCopied}
        />
      </div>
      <Ask
        label={texts.firstCode}
        fields={[{ ...CODE, label: texts.firstCode, inputMode: 'numeric' }]}
        refused={{ code: texts.factorRefused }}
        action={confirm}
        send={texts.turnOn}
      />
    </>
  )
}

function KeepCodes({ codes, onKept }: { codes: string[]; onKept(): void }) {
  return (
    <>
      <h3>{texts.codesTitle}</h3>
      <p>{texts.codesAbout}</p>
      <RecoveryCodes codes={codes} labels={{ ...texts, title: texts.codesTitle }} />
      <TypeBack onKept={onKept} />
    </>
  )
}

/** Users who did not save the codes are locked out by the first lost phone, so they must type one back. */
function TypeBack({ onKept }: { onKept(): void }) {
  const check = useOwnAction(
    (values: Values) => session.api.post('/api/users/me/recovery-codes/check', values),
    (reply) => reply?.ok && onKept(),
  )
  return (
    <Ask
      label={texts.typeBack}
      fields={[{ label: texts.typeBack, name: 'recoveryCode' }]}
      refused={{ recoveryCode: texts.typeBackRefused }}
      action={check}
      send={texts.codesKept}
    />
  )
}

const FEW_CODES = 3

type TurnedOnProps = { since: string | null; onCodes(codes: string[]): void; onRemoved(): void }

function TurnedOn({ since, ...props }: TurnedOnProps) {
  const { api } = session
  const left = useLoad<{ remaining: number; kept: boolean }>(() =>
    api.get('/api/users/me/recovery-codes'),
  )
  const renew = useOwnAction(
    (values: Values) => api.post('/api/users/me/recovery-codes', values),
    (reply) => reply?.ok && props.onCodes(reply.body.recoveryCodes),
  )
  const remove = useOwnAction(
    ({ code = '' }: Values) => {
      const json = /[a-z]/i.test(code) ? { recoveryCode: code } : { code }
      return api.delete('/api/users/me/totp', { json })
    },
    (reply) => reply?.ok && props.onRemoved(),
  )
  const remaining = left.body?.remaining ?? FEW_CODES + 1
  return (
    <>
      <p>
        {texts.factorOn} {since && filled(texts.factorSince, { date: dateIn(since) })}
      </p>
      {left.body && (
        <Notice tone={remaining > FEW_CODES ? undefined : 'warn'}>
          <p>
            {filled(texts.codesLeft, { count: remaining })}{' '}
            {remaining > FEW_CODES ? '' : texts.codesFew}
          </p>
        </Notice>
      )}
      {left.body?.kept === false && (
        <>
          <Notice tone="warn">
            <p>{texts.codesNotKept}</p>
          </Notice>
          <TypeBack onKept={left.reload} />
        </>
      )}
      <Ask
        label={texts.codesRenew}
        fields={[{ ...CODE, inputMode: 'numeric' }]}
        refused={{ code: texts.factorRefused }}
        action={renew}
        send={texts.codesRenew}
        plain
      />
      <Ask
        label={texts.turnOff}
        fields={[{ ...CODE, hint: texts.factorHint }]}
        refused={{ code: texts.factorRefused }}
        action={remove}
        send={texts.turnOff}
        plain
      />
    </>
  )
}
