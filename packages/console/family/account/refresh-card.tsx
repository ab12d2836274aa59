import { Button } from '../parts/button.tsx'
import { Badge, Card, Notice } from '../parts/card.tsx'
import { Refusal } from '../parts/refusal.tsx'
import type { Session } from '../session.ts'
import { useAction } from '../use-reply.ts'

/** Rotation made visible: refresh, then present the spent token again and watch it be refused. */
export function RefreshCard({ session }: { session: Session }) {
  const replay = useAction(session.replaySpentToken)
  const rotations = session.rotations.value
  const spent = session.hasSpentToken.value
  return (
    <Card
      title="Refresh token"
      about="Opaque, works once. Each refresh gives a new pair and spends the old token."
      actions={
        <Badge tone="accent">
          {rotations === 1 ? 'rotated once' : `rotated ${rotations} times`}
        </Badge>
      }
    >
      <div class="row">
        <Button kind="primary" icon="refresh" onClick={session.refresh}>
          Refresh now
        </Button>
        <Button
          icon="session"
          busy={replay.busy}
          blocked={!spent && 'There is no used token yet: refresh once first.'}
          onClick={() => replay.run()}
        >
          Replay the used token
        </Button>
      </div>
      {!spent && <p class="small soft">Refresh once, then replay the used token to see the 401.</p>}
      {replay.refusal?.status === 401 ? (
        <Notice tone="good">
          <p role="status">
            <strong>401, as it should be.</strong> The used token is worthless; the newer one still
            works.
          </p>
        </Notice>
      ) : (
        <Refusal reply={replay.refusal} />
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={session.automatic.value}
          onChange={(event) => {
            session.automatic.value = event.currentTarget.checked
          }}
        />
        Refresh by itself when the access token has expired
      </label>
    </Card>
  )
}
