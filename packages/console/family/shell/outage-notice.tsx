import { exchanges } from '../api/exchange-log.ts'

/** One line at the top while the service does not answer at all. */
export function OutageNotice() {
  const latest = exchanges.value.find(({ outcome }) => outcome)
  const unreachable = latest?.outcome?.status === 0 && !latest.cancelled
  return (
    <div role="alert">
      {unreachable && (
        <p class="outage">
          <strong>The service does not answer.</strong> Check that it runs at {location.origin},
          then try again.
        </p>
      )}
    </div>
  )
}
