import { useEffect } from 'preact/hooks'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/code.tsx'

type Labels = {
  title: string
  copy: string
  copied?: string
  notCopied?: string
  download: string
  print: string
}

/** The codes, with ways to save them. They are shown once, so the browser asks before leaving the page. */
export function RecoveryCodes({ codes, labels }: { codes: string[]; labels: Labels }) {
  const { title, copy, copied, notCopied, download, print: printing } = labels
  const text = codes.join('\n')
  useEffect(() => {
    const ask = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [])
  return (
    <>
      <section class="code" aria-label={title}>
        <pre>{text}</pre>
      </section>
      <div class="row">
        <CopyButton
          text={() => text}
          label={copy}
          {...(copied && { copied })}
          {...(notCopied && { notCopied })}
        />
        <a
          class="button small"
          href={`data:text/plain,${encodeURIComponent(text)}`}
          download="recovery-codes.txt"
        >
          {download}
        </a>
        <Button small onClick={() => print()}>
          {printing}
        </Button>
      </div>
    </>
  )
}
