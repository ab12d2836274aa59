import { requiredText, Type } from '@plinth/kit/http'

export const mailToken = requiredText({ maxLength: 200, description: 'From the link in the mail' })

export const TokenBody = Type.Object({ token: mailToken }, { title: 'MailToken' })

export const AcceptedReply = Type.Object(
  { message: Type.String() },
  { additionalProperties: false, title: 'MailRequested' },
)
