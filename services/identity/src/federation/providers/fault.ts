/**
 * What went wrong with a provider, in words. The error itself must not be logged: its cause can hold the
 * provider's reply, and with it tokens. Node's own message says only that fetching failed; the reason is its cause.
 */
export function faultOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error && cause.message !== '' ? `${message}: ${cause.message}` : message
}
