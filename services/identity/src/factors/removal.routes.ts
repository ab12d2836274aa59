import { type AccountGuard, ADMIN_ROLE, byCaller, userUnknown, WhyBody } from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  type Guard,
  IdPath,
  orNull,
  pathId,
  type Server,
  Type,
  timestamp,
} from '@plinth/kit/http'
import { factorAbsent } from './problems.ts'
import { removeByAdministrator, secondFactorOf } from './removal.ts'
import type { Factors } from './second-factor.ts'

const tags = ['Second factor']
const closed = { additionalProperties: false }

const RemovalReply = Type.Object(
  { removesAt: timestamp() },
  { ...closed, title: 'ScheduledRemoval' },
)

const FactorOfUserReply = Type.Object(
  { secondFactor: Type.Boolean(), removesAt: orNull(timestamp()) },
  { ...closed, title: 'SecondFactorOfUser' },
)

type Guards = { guard: AccountGuard; recent: Guard }

/** The second factor of any user, for administrators. */
export function removalRoutes(server: Server, factors: Factors, { guard, recent }: Guards): void {
  const admin = guard.role(ADMIN_ROLE)
  const userIdOf = (id: string) => pathId(id, { unknown: userUnknown })

  server.get('/api/users/:id/totp', {
    onRequest: admin,
    schema: {
      operationId: 'secondFactorOfUser',
      summary: 'Whether a user has a second factor, and when it is removed',
      tags,
      params: IdPath,
      response: { 200: FactorOfUserReply },
      problems: [userUnknown],
    },
    handler: ({ params }) => secondFactorOf(factors, userIdOf(params.id)),
  })

  server.delete('/api/users/:id/totp', {
    bodyLimit: CREDENTIALS_BODY_BYTES,
    onRequest: [admin, recent],
    schema: {
      operationId: 'removeTotpOfUser',
      summary: 'Remove the second factor of a user after a delay, unless it is used meanwhile',
      tags,
      params: IdPath,
      body: WhyBody,
      response: { 202: RemovalReply },
      problems: [userUnknown, factorAbsent],
    },
    handler: (request) =>
      removeByAdministrator(factors, userIdOf(request.params.id), byCaller(request)),
  })
}
