const PORT = /^\d{2,5}$/

/**
 * Back to the landing page for those who came from it: it names its port in the address. Only a
 * port on the same host is ever linked to, so a made-up address cannot lead anyone elsewhere.
 */
export function SuiteLink() {
  const port = new URLSearchParams(location.search).get('suite') ?? ''
  if (!PORT.test(port)) return null
  return (
    <a class="button quiet suite-link" href={`${location.protocol}//${location.hostname}:${port}/`}>
      All services
    </a>
  )
}
