import { Button } from '../../family/parts/button.tsx'
import { Refusal } from '../../family/parts/refusal.tsx'
import { deletions, undoDeletion } from './deletions.ts'

export function DeletionList() {
  if (deletions.value.length === 0) return null
  return (
    <ul class="stack tight" role="status">
      {deletions.value.map((deletion) => (
        <li key={deletion.file.id} class="notice warn">
          <div class="row apart">
            <span>
              Deleting <strong>{deletion.file.originalFilename}</strong> in a few seconds.
            </span>
            <Button small onClick={() => undoDeletion(deletion)}>
              Undo
            </Button>
          </div>
          <Refusal reply={deletion.refusal} />
        </li>
      ))}
    </ul>
  )
}
