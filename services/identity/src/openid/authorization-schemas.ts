import { oneOf, orNull, Type, timestamp } from '@plinth/kit/http'

const text = Type.String()
const closed = { additionalProperties: false }

/** A request of a client, as the hosted page sees it. */
export const AuthorizationReply = Type.Object(
  {
    id: text,
    step: oneOf('sign-in', 'consent', 'done'),
    redirectTo: orNull(Type.String({ description: 'Where the browser goes when it is done' })),
    client: Type.Object(
      {
        clientId: text,
        name: Type.String({ examples: ['Wiki'] }),
        uri: orNull(text),
        host: Type.String({ examples: ['wiki.example'], description: 'Where the answer goes' }),
        firstParty: Type.Boolean(),
      },
      closed,
    ),
    scopes: Type.Array(Type.String({ examples: ['profile'] })),
    resources: Type.Array(text),
    account: orNull(
      Type.Object(
        { username: text, email: text },
        { ...closed, description: 'The account that this browser could continue with' },
      ),
    ),
    loginHint: orNull(text),
    create: Type.Boolean({ description: 'Whether the client asks for a new account' }),
    methods: Type.Array(Type.String({ examples: ['password'] })),
    providers: Type.Array(Type.Object({ id: text, name: text }, closed)),
    locale: orNull(Type.String({ examples: ['en'] })),
    device: orNull(Type.Object({ address: text, userAgent: orNull(text) }, closed)),
    expiresAt: timestamp(),
  },
  { ...closed, title: 'Authorization' },
)
