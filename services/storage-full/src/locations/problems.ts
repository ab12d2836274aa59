import { defineProblem } from '@plinth/kit'

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
  { title: 'Storage not configured' },
)

export const storageTestFailed = defineProblem(
  'STORAGE_TEST_FAILED',
  503,
  'The provider did not pass its test.',
  { title: 'Storage test failed' },
)
