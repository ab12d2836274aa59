import { type Exchange, selectedExchange } from '../api/exchange-log.ts'
import { StatusBadge } from './status-badge.tsx'

export function ExchangeList(props: { exchanges: Exchange[]; selected: number }) {
  return (
    <ol class="picks exchange-list" aria-label="Requests, newest first">
      {props.exchanges.map((exchange) => (
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
  )
}
