import type { Outcome } from '../../api/exchange-log.ts'
import { Badge } from '../../components/page.tsx'
import { statusTone } from '../../components/tone.ts'

export function StatusBadge({ outcome }: { outcome?: Outcome }) {
  if (!outcome) return <Badge>…</Badge>
  return <Badge tone={statusTone(outcome.status)}>{outcome.status || 'none'}</Badge>
}
