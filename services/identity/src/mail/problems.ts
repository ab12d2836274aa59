import { defineProblem } from '@plinth/kit/problems'

export const mailNotConfigured = defineProblem(
  'MAIL_NOT_CONFIGURED',
  503,
  'This service cannot send mail: its operator has set up no mail server.',
)

export const mailUnknown = defineProblem('MAIL_NOT_FOUND', 404, 'There is no such mail.')

export const mailNotFailed = defineProblem(
  'MAIL_NOT_FAILED',
  409,
  'Only a mail that failed and has not expired can be sent again.',
)
