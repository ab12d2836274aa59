/** What a browser means when it refuses a passkey, in words that say what to do. */
export function passkeyErrorWords(error: unknown): string {
  const name = error instanceof Error ? error.name : ''
  const words = WORDS[name]
  return words ? `${words} (${name})` : `The browser refused: ${String(error)}`
}

const WORDS: Record<string, string> = {
  NotAllowedError:
    'The prompt was cancelled, timed out, or no passkey for this site is on this device. Try again.',
  InvalidStateError: 'This authenticator already holds a passkey for this account.',
  SecurityError: `The address ${location.host} does not belong to the domain the server named. Open the console under the server's public address; an IP address never works.`,
  NotSupportedError: 'This authenticator offers none of the algorithms the server accepts.',
  AbortError: 'The ceremony was stopped because another one began.',
  ConstraintError: 'This authenticator cannot store a passkey or cannot verify you.',
  UnknownError: 'The authenticator failed without a reason. Try another one.',
}
