import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { proving } from './proving.ts'

type Props = { about: string; onCancel(): void; children: ComponentChildren }

/** Open while a call waits for the user to prove who they are. */
export function ProofDialog({ about, onCancel, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null)
  const asks = proving.value !== undefined
  useLayoutEffect(() => {
    if (asks) dialog.current?.showModal()
    else dialog.current?.close()
  }, [asks])
  return (
    <dialog ref={dialog} class="proof" aria-labelledby="proof-title" onClose={onCancel}>
      {asks && (
        <div class="stack">
          <h2 id="proof-title">Is it still you?</h2>
          <p>{about}</p>
          {children}
        </div>
      )}
    </dialog>
  )
}
