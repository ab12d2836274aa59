import { useEffect } from 'preact/hooks'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/code.tsx'
import { useLook } from './look.ts'

/** The codes, with ways to save them. They are shown once, so the browser asks before leaving the page. */
export function RecoveryCodes({ codes }: { codes: string[] }) {
  const { words } = useLook()
  const text = codes.join('\n')
  useEffect(() => {
    const ask = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [])
  return (
    <>
      <section class="code" aria-label={words.codesTitle}>
        <pre>{text}</pre>
      </section>
      <div class="row">
        <CopyButton
          text={() => text}
          label={words.copy}
          copied={words.copied}
          notCopied={words.notCopied}
        />
        <a
          class="button small"
          href={`data:text/plain,${encodeURIComponent(text)}`}
          download="recovery-codes.txt"
        >
          {words.download}
        </a>
        <Button small onClick={() => print()}>
          {words.print}
        </Button>
      </div>
    </>
  )
}
