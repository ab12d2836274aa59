import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

type ModalProps = {
  isOpen: boolean
  /** The user has closed it, as with Escape. */
  onClose(): void
  class: string
  'aria-label'?: string
  'aria-labelledby'?: string
  children: ComponentChildren
}

/** A dialog over the page, which takes the focus. */
export function Modal({ isOpen, onClose, ...shown }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  // A layout effect, so that text typed right after the keys that open it reaches its field.
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isOpen])
  // The event comes after the closing: by then the dialog may have been opened again.
  const closed = () => {
    if (!dialog.current?.open) onClose()
  }
  return <dialog ref={dialog} {...shown} onClose={closed} />
}
