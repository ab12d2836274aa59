import { Type } from '@plinth/kit/http'

/** Why an administrator does it; stored in the audit. */
export const reason = Type.String({
  pattern: '^(?=[^]*\\S)(?:[^\\p{Cc}\\p{Cs}]|[\\t\\n\\r])*$',
  message: 'must not be blank or contain control characters other than tabs and line breaks',
  maxLength: 500,
  examples: ['Asked for by phone, ticket 4711'],
})

export const WhyBody = Type.Object({ reason }, { title: 'Why' })
