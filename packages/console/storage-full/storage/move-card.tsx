import type { ProviderName, StorageStatus } from '@plinth/client'
import { useEffect } from 'preact/hooks'
import { useAction, useLoad } from '../../shared/api/use-reply.ts'
import { Button } from '../../shared/components/button.tsx'
import { Badge, Card } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/reply.tsx'
import { dateText } from '../../shared/wording.ts'
import { session } from '../session.ts'

type Move = {
  id: number
  to: ProviderName
  state: string
  total: number
  moved: number
  failed: number
  createdAt: string
}

/** Moves stored files; every file stays readable throughout. */
export function MoveCard({ status }: { status: StorageStatus }) {
  const moves = useLoad<Move[]>(() => session.api.get('/api/storage/moves', { silent: true }))
  const start = useAction(
    (to: ProviderName) => session.api.post('/api/storage/moves', { to }),
    moves.reload,
  )
  const running = moves.body?.some(({ state }) => state === 'RUNNING') ?? false
  useEffect(() => {
    if (!running) return
    const timer = setInterval(moves.reload, 1000)
    return () => clearInterval(timer)
  })
  return (
    <Card
      title="Move stored files"
      about="Activating a provider only decides where new files go. This moves the others, verified by checksum, and every file stays readable throughout."
    >
      <div class="row">
        {(['LOCAL', 'OBJECT'] as const).map((to) => (
          <Button
            key={to}
            busy={start.busy || running}
            blocked={!status.providers[to].configured && `${to} is not configured.`}
            onClick={() => start.run(to)}
          >
            Move everything to {to}
          </Button>
        ))}
      </div>
      <Refusal reply={start.refusal ?? moves.refusal} />
      <MoveList moves={moves.body ?? []} />
    </Card>
  )
}

function MoveList({ moves }: { moves: Move[] }) {
  return (
    <div role="status">
      <ul class="stack">
        {moves.slice(0, 3).map((move) => (
          <li key={move.id} class="stack tight">
            <div class="row apart">
              <span>
                {move.moved} of {move.total} files moved to {move.to}
                {move.failed > 0 && `, ${move.failed} failed`}
              </span>
              <span class="row">
                <span class="soft small">{dateText(move.createdAt)}</span>
                <Badge tone={move.failed > 0 ? 'warn' : 'accent'}>{move.state.toLowerCase()}</Badge>
              </span>
            </div>
            <progress value={move.moved} max={Math.max(1, move.total)} aria-label="Files moved" />
          </li>
        ))}
      </ul>
    </div>
  )
}
