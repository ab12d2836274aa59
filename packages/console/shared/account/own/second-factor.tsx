import type { IdentityApi } from '@plinth/client'
import { useSignal } from '@preact/signals'
import type { Api } from '../../api/api.ts'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/code.tsx'
import { Notice } from '../../components/page.tsx'
import { QrCode } from '../../components/qr-code.tsx'
import { useLook } from './look.ts'
import { FEW_CODES, useActiveFactor, useEnrolment, useTypeBack } from './own-account.ts'
import { RecoveryCodes } from './recovery-codes.tsx'
import { filled } from './words.ts'

type OfIdentity = { api: Api<IdentityApi.Replies> }

type Props = OfIdentity & { on: boolean; since: string | null; changed(): void }

export function SecondFactor({ api, on, since, changed }: Props) {
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
        <KeepCodes api={api} codes={codes.value} onKept={kept} />
      ) : on ? (
        <TurnedOn api={api} since={since} onCodes={show} onRemoved={changed} />
      ) : (
        <Enrol api={api} onCodes={show} />
      )}
    </Section>
  )
}

const CODE = { name: 'code', autocomplete: 'one-time-code' } as const

function Enrol({ api, onCodes }: OfIdentity & { onCodes(codes: string[]): void }) {
  const { words, Ask, Failure } = useLook()
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

type KeepCodesProps = OfIdentity & { codes: string[]; onKept(): void }

function KeepCodes({ api, codes, onKept }: KeepCodesProps) {
  const { words } = useLook()
  return (
    <>
      <h3>{words.codesTitle}</h3>
      <p>{words.codesAbout}</p>
      <RecoveryCodes codes={codes} />
      <TypeBack api={api} onKept={onKept} />
    </>
  )
}

function TypeBack({ api, onKept }: OfIdentity & { onKept(): void }) {
  const { words, Ask } = useLook()
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

type TurnedOnProps = OfIdentity & {
  since: string | null
  onCodes(codes: string[]): void
  onRemoved(): void
}

function TurnedOn({ api, since, ...props }: TurnedOnProps) {
  const { words, date, Ask, Failure } = useLook()
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
          <TypeBack api={api} onKept={left.reload} />
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
