import { Button } from '../../family/parts/button.tsx'
import { Refusal } from '../../family/parts/refusal.tsx'
import { Table } from '../../family/parts/table.tsx'
import { now } from '../../family/ticking.ts'
import { useAction } from '../../family/use-reply.ts'
import { dateText, remainingText } from '../../family/wording.ts'
import { type KnownLink, revokeLink } from './links.ts'

export function LinkTable(props: {
  fileId: number
  links: KnownLink[]
  onChange(): Promise<void>
}) {
  const revoke = useAction(async (linkId: number) => {
    const reply = await revokeLink(props.fileId, linkId)
    await props.onChange()
    return reply
  })
  if (props.links.length === 0) return null
  return (
    <>
      <Refusal reply={revoke.refusal} />
      <Table
        caption="Links to this file"
        rows={props.links}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Made', of: ({ createdAt }) => dateText(createdAt) },
          { title: 'Works for', of: ({ expiresAt }) => lifeLeft(expiresAt), number: true },
          { title: 'Opened', of: ({ openedCount }) => openedCount ?? 0, number: true },
          {
            title: 'Action',
            of: ({ id }) => (
              <Button small kind="danger" onClick={() => revoke.run(id)}>
                Revoke
              </Button>
            ),
          },
        ]}
      />
    </>
  )
}

function lifeLeft(expiresAt: string): string {
  const left = new Date(expiresAt).getTime() - now.value
  return left > 0 ? remainingText(left) : 'expired'
}
