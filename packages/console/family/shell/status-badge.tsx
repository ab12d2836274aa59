import type { Outcome } from '../api/exchange-log.ts'
import { Badge, type Tone } from '../parts/card.tsx'

export function StatusBadge({ outcome }: { outcome?: Outcome }) {
  if (!outcome) return <Badge>…</Badge>
  return <Badge tone={toneOf(outcome.status)}>{outcome.status || 'none'}</Badge>
}

function toneOf(status: number): Tone {
  if (status === 0 || status >= 500) return 'bad'
  return status >= 400 ? 'warn' : 'good'
}
