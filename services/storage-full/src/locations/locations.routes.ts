import { byCaller } from '@plinth/accounts'
import { type Guard, optionalText, type Server, Type, validationFailed } from '@plinth/kit'
import { describeConfig, saveLocalConfig, saveObjectConfig } from './configure.ts'
import { type LocationContext, ProviderField } from './locations.ts'
import { activateProvider, describeStatus, testProvider } from './status.ts'

const Text = optionalText({ maxLength: 2048 })

const LocalBody = Type.Object({ path: Text, relativePath: Text, basePath: Text, directory: Text })

const ObjectBody = Type.Object({
  endpoint: Text,
  region: Text,
  bucket: Text,
  bucketName: Text,
  accessKey: Text,
  accessKeyId: Text,
  secretKey: Text,
  secretAccessKey: Text,
  pathStyleAccess: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
})

const ProviderBody = Type.Object({ provider: ProviderField })

export function locationRoutes(
  server: Server,
  context: LocationContext,
  { admin: onRequest, root }: { admin: Guard; root: string },
): void {
  server.get('/api/storage/status', { onRequest, handler: () => describeStatus(context) })

  server.get('/api/storage/config', { onRequest, handler: () => describeConfig(context) })

  server.put('/api/storage/config/local', {
    onRequest,
    schema: { body: LocalBody },
    handler: (request) => {
      const { body } = request
      const path = body.path ?? body.relativePath ?? body.basePath ?? body.directory
      if (path == null) throw validationFailed(['path: must not be blank'])
      return saveLocalConfig(context, { root, path }, byCaller(request))
    },
  })

  server.put('/api/storage/config/object', {
    onRequest,
    schema: { body: ObjectBody },
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

  for (const [path, provider] of [
    ['/api/storage/test/local', 'LOCAL'],
    ['/api/storage/test/object', 'OBJECT'],
  ] as const)
    server.post(path, {
      onRequest,
      handler: (request) => testProvider(context, provider, byCaller(request)),
    })

  server.put('/api/storage/provider', {
    onRequest,
    schema: { body: ProviderBody },
    handler: (request) => activateProvider(context, request.body.provider, byCaller(request)),
  })
}
