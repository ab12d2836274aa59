import { signal } from '@preact/signals'
import type { Reply } from '../../shared/api/api.ts'
import type { StepState } from '../../shared/components/steps.tsx'
import { session } from '../session.ts'

type CeremonyStep = {
  title: string
  state: StepState
  facts?: Record<string, string>
  fault?: string
  refusal?: Reply
}

/** A passkey ceremony as shown: five steps, the same for adding a passkey and for using one. */
export const ceremony = signal<CeremonyStep[]>([])

const TITLES = [
  'CSRF token from the server',
  'Options from the server',
  'Browser and authenticator',
  'The authenticator’s reply, decoded',
  'The server’s verdict',
]

/** Thrown to stop a ceremony; the step that failed shows why. */
export class CeremonyStopped extends Error {}

export function beginCeremony(): void {
  ceremony.value = TITLES.map((title, index) => ({ title, state: index === 0 ? 'busy' : 'later' }))
}

export function finishStep(index: number, facts?: Record<string, string>): void {
  updateStep(index, { state: 'done', facts })
  updateStep(index + 1, { state: 'busy' })
}

export function failStep(index: number, failure: Partial<CeremonyStep>): never {
  updateStep(index, { state: 'failed', ...failure })
  throw new CeremonyStopped()
}

function updateStep(index: number, change: Partial<CeremonyStep>): void {
  ceremony.value = ceremony.value.map((step, at) => (at === index ? { ...step, ...change } : step))
}

export async function fetchCsrfHeader(): Promise<Record<string, string>> {
  const reply = await session.api.get('/webauthn/csrf', { open: true })
  if (!reply.ok) failStep(0, { refusal: reply })
  finishStep(0, { Header: reply.body.headerName, Purpose: 'proves the call comes from this page' })
  return { [reply.body.headerName]: reply.body.token }
}

/** Step three: asks the browser and explains a refusal. */
export async function askBrowser(
  ask: () => Promise<Credential | null>,
): Promise<PublicKeyCredential> {
  try {
    const startedAt = performance.now()
    const credential = await ask()
    if (!credential) failStep(2, { fault: 'The browser returned no credential.' })
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    finishStep(2, { Waited: `${seconds} s for the authenticator` })
    return credential as PublicKeyCredential
  } catch (error) {
    if (error instanceof CeremonyStopped) throw error
    return failStep(2, { fault: passkeyErrorWords(error) })
  }
}

/** Explains why a browser refused a passkey, and what to do. */
function passkeyErrorWords(error: unknown): string {
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
