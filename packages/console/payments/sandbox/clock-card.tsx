import { useSignal } from '@preact/signals'
import { useAction } from '../../shared/api/use-reply.ts'
import { now } from '../../shared/clock.ts'
import { Button } from '../../shared/components/button.tsx'
import { Badge, Card } from '../../shared/components/page.tsx'
import { Refusal } from '../../shared/components/refusal.tsx'
import { momentText, remainingText } from '../../shared/wording.ts'
import { advanceClock, type Clock, resetClock } from './controls.ts'
import { MoveToForm } from './move-to-form.tsx'

const JUMPS = [
  { label: '+1 minute', seconds: 60 },
  { label: '+1 hour', seconds: 3600 },
  { label: '+1 day', seconds: 86_400 },
  { label: '+7 days', seconds: 604_800 },
]

export function ClockCard({ first }: { first: Clock }) {
  const clock = useSignal(first)
  const move = useAction(async (seconds: number | undefined) => {
    const reply = seconds === undefined ? await resetClock() : await advanceClock(seconds)
    if (reply.ok) clock.value = reply.body
    return reply
  })
  const realTime = clock.value.offsetSeconds === 0
  return (
    <Card
      title="Clock"
      about="Move time ahead instead of waiting: open checkouts expire after a day, bank debits and pending refunds settle after 30 seconds."
    >
      <Reading clock={clock.value} moved={move.reply?.ok ?? false} />
      <fieldset class="choices">
        <legend>Move ahead by</legend>
        {JUMPS.map(({ label, seconds }) => (
          <Button key={label} busy={move.busy} onClick={() => move.run(seconds)}>
            {label}
          </Button>
        ))}
      </fieldset>
      <MoveToForm clock={clock.value} busy={move.busy} onMove={move.run} />
      <div>
        <Button
          icon="refresh"
          busy={move.busy}
          blocked={realTime && 'It is real time already.'}
          onClick={() => move.run(undefined)}
        >
          Back to real time
        </Button>
      </div>
      <Refusal reply={move.refusal} />
    </Card>
  )
}

function Reading({ clock, moved }: { clock: Clock; moved: boolean }) {
  const ahead = clock.offsetSeconds
  return (
    <div class="stack tight">
      <p class="row">
        <strong class="reading">{momentText(now.value + ahead * 1000)}</strong>
        {ahead === 0 ? (
          <Badge tone="good">real time</Badge>
        ) : (
          <Badge tone="warn">{aheadText(ahead)} ahead</Badge>
        )}
      </p>
      <p class="small soft" role="status">
        {moved && ahead > 0 && 'Moved. Whatever became due on the way has happened.'}
        {moved && ahead === 0 && 'Back. Whatever happened on the way stays.'}
      </p>
    </div>
  )
}

/** The move itself takes a moment, by which the offset is short. */
function aheadText(seconds: number): string {
  const step = seconds > 30 ? 60 : 1
  return remainingText(Math.round(seconds / step) * step * 1000)
}
