import { readFileSync } from 'node:fs'
import { consoleFolder } from '@plinth/console'
import { consoleRoutes, orNull, type Server, Type } from '@plinth/kit/http'
import type { MailSettings } from './settings.ts'

const BrandReply = Type.Object(
  {
    name: Type.String({ examples: ['Example'] }),
    colour: orNull(Type.String({ examples: ['#4f55c9'] })),
    logo: Type.Boolean({ description: 'Whether there is a picture at /account/logo' }),
    passwordMinLength: Type.Integer(),
    inbox: Type.Boolean({ description: 'Whether mails are read in the console, for development' }),
  },
  { additionalProperties: false, title: 'Brand' },
)

/** The pages that links in mails and other applications open, in the look of the application. */
export function accountPageRoutes(
  server: Server,
  { appName, colour, logo, keepInOutbox }: MailSettings,
  { passwordMinLength }: { passwordMinLength: number },
): void {
  consoleRoutes(server, consoleFolder('account'), '/account', {
    operationId: 'accountPages',
    summary: 'The pages that the links in mails open',
    personal: true,
    alsoAt: ['sign-in', 'sign-out', 'device'],
  })

  server.get('/account/brand', {
    schema: {
      operationId: 'accountBrand',
      summary: 'How the account pages look',
      tags: ['Recovery'],
      response: { 200: BrandReply },
    },
    handler: () => ({
      name: appName,
      colour: colour ?? null,
      logo: logo !== undefined,
      passwordMinLength,
      inbox: keepInOutbox,
    }),
  })

  if (logo === undefined) return
  const picture = readFileSync(logo)
  const type = /svg$/i.test(logo) ? 'image/svg+xml' : 'image/png'
  server.get('/account/logo', { schema: { hide: true } }, (_request, reply) =>
    reply
      .header('content-type', type)
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox")
      .send(picture),
  )
}
