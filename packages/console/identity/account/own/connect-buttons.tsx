import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { filled } from '../../../shared/account/own/words.ts'
import { useAction } from '../../../shared/api/use-reply.ts'
import { Button } from '../../../shared/components/button.tsx'
import { Done, Failure } from '../parts.tsx'
import { texts } from '../texts/texts.ts'
import { PROVIDER_FAILURES, type Provider, ReturnedError } from '../ways-in/provider-buttons.tsx'
import { type Answer, beginRound, finishRound, listen, passOn, type Round } from './connect.ts'

/** One button for each provider at which the user can link an account. */
export function ConnectButtons(props: { providers: Provider[]; connected(): unknown }) {
  const round = useSignal<Round | undefined>(undefined)
  const error = useSignal('')
  const blocked = useSignal(false)
  const begin = useAction(async (provider: string) => {
    error.value = ''
    round.value = undefined
    const begun = await beginRound(provider)
    if ('status' in begun) return begun
    round.value = begun
    blocked.value = window.open(begun.url, '_blank', 'popup,width=520,height=720') === null
    return undefined
  })
  const finish = useAction(
    (begun: Round, ticket: string) => finishRound(begun, ticket),
    (reply) => reply?.ok && props.connected(),
  )
  const here = round.value
  useEffect(() => {
    if (!here) return
    return listen(here, (answer: Answer) => {
      round.value = undefined
      if ('error' in answer) error.value = answer.error
      else finish.run(here, answer.ticket)
    })
  }, [here])
  const nameOf = (provider: string) => props.providers.find(({ id }) => id === provider)?.name ?? ''
  return (
    <>
      <div class="row">
        {props.providers.map(({ id, name }) => (
          <Button key={id} busy={begin.busy || finish.busy} onClick={() => begin.run(id)}>
            {filled(texts.connect, { provider: name })}
          </Button>
        ))}
      </div>
      {here && (
        <p role="status">
          {blocked.value ? (
            <a href={here.url} target="_blank" rel="noreferrer">
              {filled(texts.connectOpen, { provider: nameOf(here.provider) })}
            </a>
          ) : (
            filled(texts.connecting, { provider: nameOf(here.provider) })
          )}
        </p>
      )}
      {error.value !== '' && <ReturnedError error={error.value} />}
      <Failure
        reply={begin.refusal ?? finish.refusal}
        meanings={{ ...PROVIDER_FAILURES, IDENTITY_IN_USE: texts.identityInUse }}
      />
    </>
  )
}

/** What the window of a provider shows if the browser does not let it close. */
export function ProviderWindow() {
  useEffect(passOn, [])
  return <Done title={texts.connectOver} about={texts.close} />
}
