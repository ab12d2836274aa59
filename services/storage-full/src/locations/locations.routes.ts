import { byCaller } from '@plinth/accounts'
import {
  CREDENTIALS_BODY_BYTES,
  type Guard,
  optionalText,
  orNull,
  type Server,
  Type,
} from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { describeConfig, saveLocalConfig, saveObjectConfig } from './configure.ts'
import { type LocationContext, ProviderField } from './locations.ts'
import {
  storageNotConfigured,
  storageTestFailed,
  storageUnavailable,
  TestStep,
} from './problems.ts'
import {
  activateProvider,
  describeLocations,
  describeStatus,
  MAX_COUNTED,
  testProvider,
} from './status.ts'

const Text = optionalText({ maxLength: 2048 })

const LocalBody = Type.Object(
  { path: Text, relativePath: Text, basePath: Text, directory: Text },
  { title: 'LocalSettings', examples: [{ path: 'files' }] },
)

const PLACE = { endpoint: 'https://s3.example', bucket: 'files', region: 'us-east-1' }

const ObjectBody = Type.Object(
  {
    endpoint: Text,
    region: Text,
    bucket: Text,
    bucketName: Text,
    accessKey: Text,
    accessKeyId: Text,
    secretKey: Text,
    secretAccessKey: Text,
    pathStyleAccess: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  },
  {
    title: 'ObjectSettings',
    description: 'Members that are left out, or null, keep their saved value.',
    examples: [{ ...PLACE, accessKey: 'AKIAEXAMPLE', secretKey: 'example-secret' }],
  },
)

const ProviderBody = Type.Object({ provider: ProviderField }, { title: 'ProviderChoice' })

const text = Type.String()
const flag = Type.Boolean()

const ActiveLocation = Type.Union([
  Type.Object({ provider: Type.Literal('LOCAL'), path: text }),
  Type.Object({
    provider: Type.Literal('OBJECT'),
    endpoint: text,
    region: text,
    bucket: text,
    pathStyleAccess: flag,
  }),
])

const State = Type.Object({ configured: flag, available: flag, active: flag })

const StatusReply = Type.Object(
  {
    activeProvider: ProviderField,
    activeLocation: ActiveLocation,
    configured: flag,
    available: flag,
    providers: Type.Object({ LOCAL: State, OBJECT: State }),
  },
  { title: 'StorageStatus' },
)

const ConfigReply = Type.Object(
  {
    activeProvider: ProviderField,
    activeLocation: ActiveLocation,
    pendingChanges: Type.Boolean({ description: 'The saved settings differ from those in use' }),
    local: Type.Object({ configured: flag, path: orNull(text) }),
    object: Type.Object({
      configured: flag,
      endpoint: orNull(text),
      region: orNull(text),
      bucket: orNull(text),
      pathStyleAccess: orNull(flag),
      accessKeyPresent: flag,
      secretKeyPresent: flag,
    }),
  },
  {
    title: 'StorageConfig',
    description: 'Credentials are never shown, only whether they are set.',
  },
)

const LocationsReply = Type.Array(
  Type.Object(
    {
      id: Type.Integer(),
      location: ActiveLocation,
      active: Type.Boolean({ description: 'New files go there' }),
      files: Type.Integer({ description: `Stored or restorable; at most ${MAX_COUNTED}` }),
    },
    { title: 'StorageLocation' },
  ),
)

const TestReply = Type.Object(
  {
    provider: ProviderField,
    success: flag,
    available: flag,
    message: text,
    steps: Type.Array(TestStep),
  },
  { title: 'StorageTest' },
)

const tags = ['Storage']

export function locationRoutes(
  server: Server,
  context: LocationContext,
  { admin: onRequest, recent, root }: { admin: Guard; recent: Guard; root: string },
): void {
  server.get('/api/storage/status', {
    onRequest,
    schema: {
      operationId: 'status',
      summary: 'Which provider is active, and whether both work',
      tags,
      response: { 200: StatusReply },
    },
    handler: () => describeStatus(context),
  })

  server.get('/api/storage/config', {
    onRequest,
    schema: {
      operationId: 'config',
      summary: 'The saved settings of both providers',
      tags,
      response: { 200: ConfigReply },
    },
    handler: () => describeConfig(context),
  })

  server.get('/api/storage/locations', {
    onRequest,
    schema: {
      operationId: 'locations',
      summary: 'Every place that has or had files',
      tags,
      response: { 200: LocationsReply },
    },
    handler: () => describeLocations(context),
  })

  // A store of the attacker's would get every file.
  const changing = [onRequest, recent]
  configurationRoutes(server, context, { changing, root })
  activationRoutes(server, context, { admin: onRequest, changing })
}

function configurationRoutes(
  server: Server,
  context: LocationContext,
  { changing: onRequest, root }: { changing: Guard[]; root: string },
): void {
  server.put('/api/storage/config/local', {
    onRequest,
    schema: {
      operationId: 'configureLocal',
      summary: 'Save a folder below the storage root; nothing is activated',
      description: 'The four names mean the same; one of them is enough.',
      tags,
      body: LocalBody,
      response: { 200: ConfigReply },
    },
    handler: (request) => {
      const { body } = request
      const path = body.path ?? body.relativePath ?? body.basePath ?? body.directory
      if (path == null) throw validationFailed(['path: must not be blank'])
      return saveLocalConfig(context, { root, path }, byCaller(request))
    },
  })

  server.put('/api/storage/config/object', {
    onRequest,
    bodyLimit: CREDENTIALS_BODY_BYTES,
    schema: {
      operationId: 'configureObject',
      summary: 'Save an object store, encrypted; nothing is activated',
      tags,
      body: ObjectBody,
      response: { 200: ConfigReply },
    },
    handler: (request) => {
      const { bucketName, accessKeyId, secretAccessKey, ...named } = request.body
      const given = {
        ...named,
        bucket: named.bucket ?? bucketName,
        accessKey: named.accessKey ?? accessKeyId,
        secretKey: named.secretKey ?? secretAccessKey,
      }
      return saveObjectConfig(context, given, byCaller(request))
    },
  })
}

function activationRoutes(
  server: Server,
  context: LocationContext,
  { admin, changing }: { admin: Guard; changing: Guard[] },
): void {
  const problems = [storageNotConfigured, storageTestFailed, storageUnavailable]
  for (const [path, provider, operationId] of [
    ['/api/storage/test/local', 'LOCAL', 'testLocal'],
    ['/api/storage/test/object', 'OBJECT', 'testObject'],
  ] as const)
    server.post(path, {
      onRequest: admin,
      schema: {
        operationId,
        summary: `Write, read and remove an object with the saved settings of ${provider}`,
        tags,
        response: { 200: TestReply },
        problems,
      },
      handler: (request) => testProvider(context, provider, byCaller(request)),
    })

  server.put('/api/storage/provider', {
    onRequest: changing,
    schema: {
      operationId: 'activate',
      summary: 'Test a provider, then make it the active one',
      tags,
      body: ProviderBody,
      response: { 200: StatusReply },
      problems,
    },
    handler: (request) => activateProvider(context, request.body.provider, byCaller(request)),
  })
}
