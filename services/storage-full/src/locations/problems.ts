import { Type } from '@plinth/kit/http'
import {
  defineProblem,
  isDiskFull,
  isDiskReadOnly,
  Problem,
  storageFull,
  storageReadOnly,
} from '@plinth/kit/problems'

export const storageUnavailable = defineProblem(
  'STORAGE_UNAVAILABLE',
  503,
  'The storage cannot be reached or does not accept the operation. Try again later.',
  { title: 'Storage unavailable', headers: { 'retry-after': '5' } },
)

export const storageNotConfigured = defineProblem(
  'STORAGE_NOT_CONFIGURED',
  409,
  'This provider has no saved configuration yet.',
  { title: 'Storage not configured', members: { provider: Type.String() } },
)

/** One step of a provider's test. */
export const TestStep = Type.Object(
  { name: Type.String(), passed: Type.Boolean(), message: Type.String() },
  { title: 'TestStep' },
)

export const storageTestFailed = defineProblem(
  'STORAGE_TEST_FAILED',
  503,
  'The provider did not pass its test.',
  {
    title: 'Storage test failed',
    members: {
      provider: Type.String(),
      success: Type.Boolean(),
      available: Type.Boolean(),
      steps: Type.Array(TestStep),
    },
  },
)

const BROKEN_CONNECTION = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])

/**
 * Maps the error that ended a transfer: a full disk is STORAGE_FULL, a read-only one STORAGE_READ_ONLY, any other failure of a disk or a
 * connection is STORAGE_UNAVAILABLE. Anything else is a bug and is returned unchanged.
 */
export function asStorageFault(error: unknown): unknown {
  if (error instanceof Problem) return error
  if (isDiskFault(error)) return diskProblem(error)
  return isBrokenConnection(error) ? storageUnavailable({ cause: error }) : error
}

/** The problem for a failed file system call; `cause` is for the log. */
export function diskProblem(error: NodeJS.ErrnoException, cause: Error = error): Problem {
  if (isDiskFull(error)) return storageFull({ cause })
  return (isDiskReadOnly(error) ? storageReadOnly : storageUnavailable)({ cause })
}

/** Whether a store refused an operation that may succeed later. */
export function isStoreRefusal(error: unknown): boolean {
  return storageUnavailable.is(error) || storageFull.is(error) || storageReadOnly.is(error)
}

/** Whether a file system call failed. */
export function isDiskFault(error: unknown): error is NodeJS.ErrnoException {
  const { syscall } = (error ?? {}) as NodeJS.ErrnoException
  return syscall !== undefined || isDiskFull(error)
}

export function isBrokenConnection(error: unknown): boolean {
  return BROKEN_CONNECTION.has((error as NodeJS.ErrnoException | undefined)?.code ?? '')
}
