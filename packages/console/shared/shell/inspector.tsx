import { exchanges, selectedExchange } from '../api/exchange-log.ts'
import { Button } from '../parts/button.tsx'
import { Badge } from '../parts/card.tsx'
import { ExchangeDetail } from './exchange-detail.tsx'
import { ExchangeList } from './exchange-list.tsx'
import { inspectorOpen } from './visibility.ts'

/** The live view of every request the page makes. */
export function Inspector() {
  const all = exchanges.value
  const selected = all.find(({ id }) => id === selectedExchange.value)
  return (
    <aside class={`inspector ${inspectorOpen.value ? 'open' : ''}`} aria-label="Request inspector">
      <header>
        <h2>Requests</h2>
        <Badge>{all.length}</Badge>
        <Button
          class="close"
          kind="quiet"
          small
          icon="cross"
          label="Close the request inspector"
          onClick={() => {
            inspectorOpen.value = false
          }}
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
