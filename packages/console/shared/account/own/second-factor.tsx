import { useSignal } from '@preact/signals'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/code.tsx'
import { Notice } from '../../components/page.tsx'
import { QrCode } from '../../components/qr-code.tsx'
import { useLook } from './look.ts'
import { FEW_CODES, useActiveFactor, useEnrolment, useTypeBack } from './own-account.ts'
import { RecoveryCodes } from './recovery-codes.tsx'
import { filled } from './words.ts'

type Props = { on: boolean; since: string | null; changed(): void }

export function SecondFactor({ on, since, changed }: Props) {
  const { words, Section } = useLook()
  const codes = useSignal<string[]>([])
  const show = (made: string[]) => {
    codes.value = made
  }
  const kept = () => {
    codes.value = []
    changed()
  }
  return (
    <Section title={words.factorTitle}>
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

const CODE = { name: 'code', autocomplete: 'one-time-code' } as const

function Enrol({ onCodes }: { onCodes(codes: string[]): void }) {
  const { api, words, Ask, Failure } = useLook()
  const { enrol, confirm, begun } = useEnrolment(api, { onCodes })
  if (!begun)
    return (
      <>
        <p>{words.factorOff}</p>
        <div class="row">
          <Button kind="primary" busy={enrol.busy} onClick={() => enrol.run()}>
            {words.factorBegin}
          </Button>
        </div>
        <Failure reply={enrol.refusal} />
      </>
    )
  return (
    <>
      <p>{words.factorScan}</p>
      <QrCode text={begun.uri} label={words.qrLabel} />
      <div class="row">
        <code>{begun.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code>
        <CopyButton
          text={() => begun.secret}
          label={words.copy}
          copied={words.copied}
          notCopied={words.notCopied}
        />
      </div>
      <Ask
        label={words.firstCode}
        fields={[{ ...CODE, label: words.firstCode, inputMode: 'numeric' }]}
        refused={{ code: words.factorRefused }}
        action={confirm}
        send={words.turnOn}
      />
    </>
  )
}

function KeepCodes({ codes, onKept }: { codes: string[]; onKept(): void }) {
  const { words } = useLook()
  return (
    <>
      <h3>{words.codesTitle}</h3>
      <p>{words.codesAbout}</p>
      <RecoveryCodes codes={codes} />
      <TypeBack onKept={onKept} />
    </>
  )
}

function TypeBack({ onKept }: { onKept(): void }) {
  const { api, words, Ask } = useLook()
  const check = useTypeBack(api, onKept)
  return (
    <Ask
      label={words.typeBack}
      fields={[{ label: words.typeBack, name: 'recoveryCode' }]}
      refused={{ recoveryCode: words.typeBackRefused }}
      action={check}
      send={words.codesKept}
    />
  )
}

type TurnedOnProps = { since: string | null; onCodes(codes: string[]): void; onRemoved(): void }

function TurnedOn({ since, ...props }: TurnedOnProps) {
  const { api, words, date, Ask, Failure } = useLook()
  const { left, renew, remove } = useActiveFactor(api, props)
  const remaining = left.body?.remaining ?? FEW_CODES + 1
  const code = { ...CODE, label: words.factor }
  return (
    <>
      <p>
        {words.factorOn} {since && filled(words.factorSince, { date: date(since) })}
      </p>
      {left.body && (
        <Notice tone={remaining > FEW_CODES ? undefined : 'warn'}>
          <p>
            {filled(words.codesLeft, { count: remaining })}{' '}
            {remaining > FEW_CODES ? '' : words.codesFew}
          </p>
        </Notice>
      )}
      {left.body?.kept === false && (
        <>
          <Notice tone="warn">
            <p>{words.codesNotKept}</p>
          </Notice>
          <TypeBack onKept={left.reload} />
        </>
      )}
      <Failure reply={left.refusal} />
      <Ask
        label={words.codesRenew}
        fields={[{ ...code, inputMode: 'numeric' }]}
        refused={{ code: words.factorRefused }}
        action={renew}
        send={words.codesRenew}
        plain
      />
      <Ask
        label={words.turnOff}
        fields={[{ ...code, hint: words.factorHint }]}
        refused={{ code: words.factorRefused }}
        action={remove}
        send={words.turnOff}
        plain
      />
    </>
  )
}
