import { useEffect, useRef } from 'preact/hooks'
import { exchanges, selectedExchange } from '../api/exchange-log.ts'
import { Button } from '../parts/button.tsx'
import { Badge } from '../parts/card.tsx'
import { ExchangeDetail } from './exchange-detail.tsx'
import { ExchangeList } from './exchange-list.tsx'
import { inspectorOpen } from './visibility.ts'

/** The live view of every request the page makes. */
export function Inspector() {
  const all = exchanges.value
  const sheet = useRef<HTMLElement>(null)
  useEffect(() => {
    if (inspectorOpen.value) sheet.current?.querySelector<HTMLElement>('.close')?.focus()
  }, [inspectorOpen.value])
  const selected = all.find(({ id }) => id === selectedExchange.value)
  return (
    <aside
      ref={sheet}
      class={`inspector ${inspectorOpen.value ? 'open' : ''}`}
      aria-label="Request inspector"
      onKeyDown={({ key }) => {
        if (key === 'Escape') closeInspector()
      }}
    >
      <header>
        <h2>Requests</h2>
        <Badge>{all.length}</Badge>
        <Button
          class="close"
          kind="quiet"
          small
          icon="cross"
          label="Close the request inspector"
          onClick={closeInspector}
        />
      </header>
      <div class="scroll">
        {selected ? (
          <>
            <ExchangeList exchanges={all} selected={selected.id} />
            <ExchangeDetail exchange={selected} />
          </>
        ) : (
          <p class="soft">
            Nothing sent yet. Every request this page makes appears here at once, ready to copy as
            curl or fetch.
          </p>
        )}
      </div>
    </aside>
  )
}

/** The focus goes back to the button that opened the sheet, where there is one. */
function closeInspector(): void {
  inspectorOpen.value = false
  document.querySelector<HTMLElement>('.open-inspector')?.focus()
}
