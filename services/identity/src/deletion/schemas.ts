import { orNull, requiredText, Type, timestamp } from '@plinth/kit/http'

const closed = { additionalProperties: false }

export const KeepBody = Type.Object(
  {
    token: requiredText({ maxLength: 200, description: 'From the mail, or from a refused login' }),
  },
  { title: 'KeepAccount' },
)

export const DeletionReply = Type.Object(
  { deletesAt: timestamp() },
  { ...closed, title: 'ScheduledDeletion' },
)

export const DeletedUsersQuery = Type.Object({
  after: Type.Optional(Type.String({ maxLength: 100, description: '`next` of the page before' })),
})

export const DeletedUsersReply = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        { id: Type.Integer(), deletedAt: timestamp() },
        { ...closed, title: 'DeletedUser' },
      ),
    ),
    next: orNull(
      Type.String({ description: 'Pass it as `after` to continue; null when there are none yet' }),
    ),
  },
  { ...closed, title: 'DeletedUsers' },
)
