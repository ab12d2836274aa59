import type { ComponentChildren } from 'preact'
import { Modal } from '../../components/modal.tsx'
import { proving } from './proving.ts'

type Props = { about: string; onCancel(): void; children: ComponentChildren }

/** Open while a call waits for the user to prove who they are. */
export function ProofDialog({ about, onCancel, children }: Props) {
  const asks = proving.value !== undefined
  return (
    <Modal isOpen={asks} onClose={onCancel} class="proof" aria-labelledby="proof-title">
      {asks && (
        <div class="stack">
          <h2 id="proof-title">Is it still you?</h2>
          <p>{about}</p>
          {children}
        </div>
      )}
    </Modal>
  )
}
