import type { Move, ProviderName, StorageStatus } from '@plinth/client'
import { useEffect, useRef } from 'preact/hooks'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button, ConfirmButton } from '../../shared/components/button.tsx'
import { Facts } from '../../shared/components/facts.tsx'
import { Badge, Card, Notice } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/reply.tsx'
import { Table } from '../../shared/components/table.tsx'
import type { Tone } from '../../shared/components/tone.ts'
import { dateText, remainingText, sizeText } from '../../shared/wording.ts'
import { session } from '../session.ts'

/** Moves stored files; every file stays readable throughout. */
export function MoveCard(props: { status: StorageStatus; onChange(): Promise<unknown> }) {
  const moves = useLoad(() => session.api.get('/api/storage/moves', { silent: true }))
  const after = () => Promise.all([moves.reload(), props.onChange()])
  const start = useAction(
    (to: ProviderName) => session.api.post('/api/storage/moves', { json: { to } }),
    after,
  )
  const stop = useAction(
    (id: number) => session.api.delete('/api/storage/moves/{id}', { path: { id } }),
    after,
  )
  // A move goes on after a restart of the service, so a poll that fails must not be the last one.
  const known = useRef<Move[]>([])
  known.current = moves.body ?? known.current
  const [latest, ...earlier] = known.current
  const running = latest?.state === 'RUNNING'
  const wasRunning = useRef(false)
  useEffect(() => {
    if (wasRunning.current && !running) props.onChange()
    wasRunning.current = running
    if (!running) return
    const timer = setInterval(moves.reload, 1000)
    return () => clearInterval(timer)
  }, [running])
  return (
    <Card
      title="Move stored files"
      about="Activating a provider only decides where new files go. This moves the others, verified by checksum."
    >
      <div class="row">
        {(['LOCAL', 'OBJECT'] as const).map((to) => (
          <ConfirmButton
            key={to}
            busy={start.busy || running}
            blocked={!props.status.providers[to].configured && `${to} is not configured.`}
            question={`Move every stored file to ${to}?`}
            onClick={() => start.run(to)}
          >
            Move everything to {to}
          </ConfirmButton>
        ))}
      </div>
      <Refusal reply={start.refusal ?? stop.refusal ?? moves.refusal} />
      {latest && <Report move={latest} onStop={() => stop.run(latest.id)} />}
      {earlier.length > 0 && (
        <details>
          <summary>Earlier moves</summary>
          <Table
            caption="Earlier moves"
            rows={earlier.slice(0, 10)}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Started', of: ({ createdAt }) => dateText(createdAt) },
              { title: 'To', of: ({ to }) => <Badge>{to}</Badge> },
              { title: 'State', of: (move) => <State move={move} /> },
              { title: 'Moved', of: ({ moved, total }) => `${moved} of ${total}`, number: true },
              { title: 'Failed', of: ({ failed }) => failed, number: true },
              { title: 'By', of: ({ requestedBy }) => requestedBy },
            ]}
          />
        </details>
      )}
    </Card>
  )
}

/** The progress and the outcome of a move. */
function Report({ move, onStop }: { move: Move; onStop(): void }) {
  const { moved, failed, total, movedBytes, lastError } = move
  const isRunning = move.state === 'RUNNING'
  return (
    <div class="stack tight">
      <div class="row apart">
        <strong role="status">
          {moved} of {total} {total === 1 ? 'file' : 'files'} moved to {move.to}
          {failed > 0 && `, ${failed} failed`}
        </strong>
        <span class="row">
          <State move={move} />
          {isRunning && (
            <Button small onClick={onStop}>
              Stop
            </Button>
          )}
        </span>
      </div>
      <progress value={moved + failed} max={Math.max(1, total)} aria-label="Files moved" />
      <Facts
        of={{
          Moved: sizeText(movedBytes),
          Started: `${dateText(move.createdAt)} by ${move.requestedBy}`,
          Took: isRunning ? undefined : remainingText(millisecondsOf(move)),
          'Time left': isRunning ? timeLeft(move) : undefined,
        }}
      />
      {lastError && (
        <Notice tone={isRunning ? 'warn' : 'bad'}>
          <p>
            <strong>{failed > 0 ? 'The last failure: ' : 'Waiting: '}</strong>
            {lastError}
          </p>
          {failed > 0 && <p>Files that failed stay where they were. Move again to retry them.</p>}
        </Notice>
      )}
    </div>
  )
}

const TONES: Record<Move['state'], Tone> = { RUNNING: 'accent', DONE: 'good', CANCELLED: 'warn' }

function State({ move: { state, failed } }: { move: Move }) {
  const tone = state === 'DONE' && failed > 0 ? 'warn' : TONES[state]
  return <Badge tone={tone}>{state === 'CANCELLED' ? 'stopped' : state.toLowerCase()}</Badge>
}

function millisecondsOf({ createdAt, updatedAt }: Move): number {
  return new Date(updatedAt).getTime() - new Date(createdAt).getTime()
}

/** Estimated from the files moved so far. */
function timeLeft(move: Move): string | undefined {
  const { moved, failed, total } = move
  if (moved === 0) return undefined
  return `about ${remainingText((millisecondsOf(move) / moved) * (total - moved - failed))}`
}
