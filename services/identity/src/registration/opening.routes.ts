import { type AccountGuard, ADMIN_ROLE, byCaller } from '@plinth/accounts'
import type { Followed } from '@plinth/kit/database'
import { type Guard, orNull, type Server, Type } from '@plinth/kit/http'
import { changeOpening, describeOpening, type Opening } from './opening.ts'

const OpeningBody = Type.Object(
  { open: orNull(Type.Boolean({ description: 'null: as in the settings' })) },
  { title: 'RegistrationChange', examples: [{ open: true }] },
)

const OpeningReply = Type.Object(
  {
    open: Type.Boolean({ description: 'What applies' }),
    setting: Type.Boolean({ description: 'What the settings of the service say' }),
    changedAt: orNull(Type.String({ description: 'null: as in the settings' })),
  },
  { title: 'RegistrationState', description: 'Whether people may register themselves.' },
)

const tags = ['Users']

/** For administrators: whether people may register themselves. */
export function openingRoutes(
  server: Server,
  opening: Opening,
  { guard, recent, live }: { guard: AccountGuard; recent: Guard; live: Followed },
): void {
  const admin = guard.role(ADMIN_ROLE)
  server.get('/api/registration', {
    onRequest: admin,
    schema: {
      operationId: 'registration',
      summary: 'Whether people may register themselves',
      tags,
      response: { 200: OpeningReply },
    },
    handler: () => describeOpening(opening),
  })

  server.patch('/api/registration', {
    onRequest: [admin, recent],
    schema: {
      operationId: 'changeRegistration',
      summary: 'Open or close the registration at once; no restart is needed',
      description:
        'Whether an address has to be confirmed first stays as in the settings. Accounts that exist are not affected.',
      tags,
      body: OpeningBody,
      response: { 200: OpeningReply },
    },
    handler: async (request) => {
      await changeOpening(opening, request.body.open, byCaller(request))
      await live.refresh()
      return describeOpening(opening)
    },
  })
}
