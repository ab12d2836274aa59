import { defineProblem } from '@plinth/kit/problems'

export const noDeletion = defineProblem(
  'NO_DELETION_PENDING',
  409,
  'The erasure of this account was not requested, or it was cancelled.',
)
