import type { OwnerUsage } from '@plinth/client'
import { usePages } from '../../shared/api/use-reply.ts'
import { Card } from '../../shared/components/page.tsx'
import { type Column, List } from '../../shared/components/table.tsx'
import { sizeText } from '../../shared/wording.ts'
import { session } from '../session.ts'
import { usageText } from '../usage-text.ts'

type Row = OwnerUsage & { id: string | number }

const COLUMNS: Column<Row>[] = [
  { title: 'Owner', of: ({ owner, ownerId }) => owner ?? ownerId },
  { title: 'Files', of: ({ files }) => files, number: true },
  { title: 'Size', of: ({ bytes }) => sizeText(bytes), number: true },
  { title: 'Of what they may store', of: usageText },
]

export function UsageCard() {
  const usage = usePages<OwnerUsage>((page) =>
    session.api.get(`/api/storage/usage?page=${page}&size=10`, { silent: true }),
  )
  const rows = usage.body?.map((row): Row => ({ ...row, id: row.ownerId }))
  return (
    <Card title="Usage" about="What each owner has stored, those with most bytes first.">
      <List of={{ ...usage, body: rows }} caption="Usage of each owner" columns={COLUMNS} />
    </Card>
  )
}
