import { useSignal } from '@preact/signals'
import { RecoveryCodes } from '../../../shared/account/recovery-codes.tsx'
import { Button } from '../../../shared/components/button.tsx'
import { CopyButton } from '../../../shared/components/code.tsx'
import { Notice } from '../../../shared/components/page.tsx'
import { QrCode } from '../../../shared/components/qr-code.tsx'
import { FEW_CODES, useActiveFactor, useEnrolment, useTypeBack } from '../../own-account.ts'
import { Ask, Failure, Section } from '../parts.tsx'
import { dateIn, filled, texts } from '../texts/texts.ts'
import { session } from '../ways-in/session.ts'

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
  const { enrol, confirm, begun } = useEnrolment(session.api, { onCodes })
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

function TypeBack({ onKept }: { onKept(): void }) {
  const check = useTypeBack(session.api, onKept)
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

type TurnedOnProps = { since: string | null; onCodes(codes: string[]): void; onRemoved(): void }

function TurnedOn({ since, ...props }: TurnedOnProps) {
  const { left, renew, remove } = useActiveFactor(session.api, props)
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
