import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type Exchange, exchanges, selectedExchange } from '../../api/exchange-log.ts'
import { Button } from '../../components/button.tsx'
import { Badge } from '../../components/page.tsx'
import { inspectorOpen, panel, resizePanel } from '../visibility.ts'
import { ExchangeDetail } from './exchange-detail.tsx'
import { StatusBadge } from './status-badge.tsx'

/** The live view of every request the page makes. */
export function Inspector() {
  const all = exchanges.value
  const sheet = useRef<HTMLElement>(null)
  useEffect(() => {
    if (inspectorOpen.value) sheet.current?.querySelector<HTMLElement>('.close')?.focus()
  }, [inspectorOpen.value])
  const { shown } = panel.value
  const wasShown = useRef(shown)
  // The button that had the focus is gone.
  useEffect(() => {
    if (shown === wasShown.current) return
    wasShown.current = shown
    document.querySelector<HTMLElement>(shown ? '.inspector .collapse' : '.open-inspector')?.focus()
  }, [shown])
  const selected = all.find(({ id }) => id === selectedExchange.value)
  return (
    <aside
      ref={sheet}
      class={`inspector ${inspectorOpen.value ? 'open' : ''}`}
      aria-label="Request inspector"
      onKeyDown={({ key }) => {
        if (key === 'Escape') closeInspector()
      }}
      data-shown={shown}
    >
      <PanelEdge />
      <header class="row">
        <h2>Requests</h2>
        <Badge>{all.length}</Badge>
        <Button
          class="collapse"
          kind="quiet"
          small
          icon="cross"
          label="Hide the requests"
          onClick={() => {
            inspectorOpen.value = false
            panel.value = { ...panel.value, shown: false }
          }}
        />
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

const STEP = 24

/** Can be dragged, or moved with the arrow keys. */
function PanelEdge() {
  const drag = (event: PointerEvent) => {
    const edge = event.currentTarget as HTMLElement
    edge.setPointerCapture(event.pointerId)
    const move = ({ clientX }: PointerEvent) => resizePanel(innerWidth - clientX)
    edge.addEventListener('pointermove', move)
    edge.addEventListener('lostpointercapture', () => edge.removeEventListener('pointermove', move))
  }
  const step = (event: KeyboardEvent) => {
    const by = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key]
    if (!by) return
    event.preventDefault()
    resizePanel(panel.value.width + by)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved, a separator can.
    <div
      class="edge"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the request panel"
      aria-valuenow={panel.value.width}
      aria-valuemin={240}
      aria-valuemax={900}
      tabIndex={0}
      onPointerDown={drag}
      onKeyDown={step}
    />
  )
}

/** Returns the focus to the button that opened the sheet, if there is one. */
function closeInspector(): void {
  inspectorOpen.value = false
  document.querySelector<HTMLElement>('.open-inspector')?.focus()
}

const MAX_LISTED = 6

/** Shows the newest, and the rest on request: a list that scrolls inside the panel is hard to use. */
function ExchangeList(props: { exchanges: Exchange[]; selected: number }) {
  const all = useSignal(false)
  const more = props.exchanges.length - MAX_LISTED
  const listed = props.exchanges.filter(
    ({ id }, index) => all.value || index < MAX_LISTED || id === props.selected,
  )
  return (
    <>
      <ol class="picks exchange-list" aria-label="Requests, newest first">
        {listed.map((exchange) => (
          <li key={exchange.id}>
            <button
              type="button"
              aria-pressed={exchange.id === props.selected}
              onClick={() => {
                selectedExchange.value = exchange.id
              }}
            >
              <strong>{exchange.method}</strong>
              <span class="path">{exchange.path}</span>
              <StatusBadge outcome={exchange.outcome} />
            </button>
          </li>
        ))}
      </ol>
      {more > 0 && (
        <div>
          <Button
            small
            kind="quiet"
            expanded={all.value}
            onClick={() => {
              all.value = !all.value
            }}
          >
            {all.value ? 'Show fewer requests' : `Show ${more} more`}
          </Button>
        </div>
      )}
    </>
  )
}
