import { useSignal } from '@preact/signals'
import { Button } from '../components/button.tsx'
import { CopyButton } from '../components/code.tsx'

type Labels = { title: string; copy: string; copied?: string; download: string; print: string }

/** The codes, and the ways to keep them. */
export function RecoveryCodes({ codes, labels }: { codes: string[]; labels: Labels }) {
  const { title, copy, copied, download, print: printing } = labels
  const text = codes.join('\n')
  return (
    <>
      <section class="code" aria-label={title}>
        <pre>{text}</pre>
      </section>
      <div class="row">
        <CopyButton text={() => text} label={copy} {...(copied && { copied })} />
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

/** A user who did not keep them is locked out by the first lost phone, so one is typed back. */
export function useTypedBack(codes: string[], onKept: () => void) {
  const wrong = useSignal(false)
  const check = ({ code = '' }: Record<string, string>) => {
    const typed = code.toUpperCase().replaceAll(/[\s-]/g, '')
    wrong.value = !codes.some((each) => each.replaceAll('-', '') === typed)
    if (!wrong.value) onKept()
  }
  return { check, isWrong: wrong.value }
}
