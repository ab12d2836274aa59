import { byCaller } from '@plinth/accounts'
import type { Followed } from '@plinth/kit/database'
import { type Guard, orNull, type Server, Type } from '@plinth/kit/http'
import { MAX_RESTORABLE_SECONDS, MAX_VERSIONS } from '../config.ts'
import type { Storage } from '../files/storage.ts'
import { changeLimits, describeLimits } from './limits.ts'

const count = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

const given = (options: object) =>
  Type.Optional(orNull(Type.Integer({ ...options, description: 'null: as in the settings' })))

const LimitsBody = Type.Object(
  {
    userBytes: given(count),
    userFiles: given(count),
    trashBytes: given(count),
    restorableSeconds: given({ minimum: 1, maximum: MAX_RESTORABLE_SECONDS }),
    versions: given({ minimum: 0, maximum: MAX_VERSIONS }),
  },
  {
    title: 'LimitChanges',
    description:
      'Members that are left out stay as they are. 0 means no limit, and for `versions` none.',
    examples: [{ userBytes: 10_737_418_240 }],
  },
)

const Limit = Type.Object(
  {
    value: Type.Integer({ description: 'What applies' }),
    setting: Type.Integer({ description: 'What the settings of the service say' }),
    changedAt: orNull(Type.String({ description: 'null: as in the settings' })),
  },
  { title: 'Limit' },
)

const LimitsReply = Type.Object(
  {
    userBytes: Limit,
    userFiles: Limit,
    trashBytes: Limit,
    restorableSeconds: Limit,
    versions: Limit,
  },
  { title: 'Limits', description: '0 means no limit, and for `versions` none.' },
)

const tags = ['Storage']

type LimitOptions = { admin: Guard; recent: Guard; settings: Storage['limits']; live: Followed }

export function limitRoutes(
  server: Server,
  storage: Storage,
  { admin, recent, settings, live }: LimitOptions,
): void {
  server.get('/api/storage/limits', {
    onRequest: admin,
    schema: {
      operationId: 'limits',
      summary: 'Quota, trash and versions: what applies, and what the settings say',
      tags,
      response: { 200: LimitsReply },
    },
    handler: () => describeLimits(storage, settings),
  })

  server.patch('/api/storage/limits', {
    // A lower limit removes what is in the trash, and earlier versions.
    onRequest: [admin, recent],
    schema: {
      operationId: 'changeLimits',
      summary: 'Change limits at once; no restart is needed',
      description:
        '`restorableSeconds` applies to files deleted from now on, and `trashBytes` only while there is no quota of bytes. Files beyond a lower quota stay. What is beyond a lower limit of the trash leaves within a minute, earlier versions within an hour.',
      tags,
      body: LimitsBody,
      response: { 200: LimitsReply },
    },
    handler: async (request) => {
      await changeLimits(storage, { settings, changes: request.body }, byCaller(request))
      await live.refresh()
      return describeLimits(storage, settings)
    },
  })
}
