import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

type Drawing = ReturnType<typeof import('./qr-squares.ts').qrSquares>

/** The other bundle of a page that draws these, in the same folder. */
const SQUARES = './qr-squares.js'

/**
 * Drawn in the browser, so that its content reaches no other server. The page shows the same content as text, which is
 * all there is while the other bundle loads, or if the service has stopped.
 */
export function QrCode({ text, label }: { text: string; label: string }) {
  const drawing = useSignal<Drawing | undefined>(undefined)
  useEffect(() => {
    const draw = ({ qrSquares }: typeof import('./qr-squares.ts')) => {
      drawing.value = qrSquares(text)
    }
    import(SQUARES).then(draw, () => {
      drawing.value = undefined
    })
  }, [text])
  if (!drawing.value) return null
  const { path, size } = drawing.value
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <path d={path} />
    </svg>
  )
}
