import { Readable } from 'node:stream'
import { type Guard, noContent, oneOf, type Server, Type } from '@plinth/kit/http'
import { storageUnavailable } from '../../locations/problems.ts'
import { folderExists, folderNotEmpty, folderNotFound, tooManyFolders } from '../problems.ts'
import type { Storage } from '../storage.ts'
import {
  createFolder,
  deleteFolder,
  deleteWithFiles,
  FolderReply,
  foldersBelow,
  moveFolder,
} from './folders.ts'
import { folderPath, folderText, ROOT } from './paths.ts'

const tags = ['Folders']

const path = folderText({ examples: ['/holidays/2026'] })
const FolderBody = Type.Object({ path }, { title: 'FolderRequest' })
const MoveBody = Type.Object(
  { from: path, to: folderText({ examples: ['/archive/2026'] }) },
  { title: 'FolderMove' },
)
const files = Type.Integer({ minimum: 0, description: 'How many files are in it and below it' })
const MovedReply = Type.Object({ path, files }, { title: 'MovedFolder' })
const DeletedReply = Type.Object(
  { files: Type.Integer({ minimum: 0, description: 'How many files went to the trash' }) },
  { title: 'DeletedFolder' },
)
/** Streamed. */
const FoldersReply = Type.Unsafe<unknown>(
  Type.Object({ path, folders: Type.Array(FolderReply) }, { title: 'Folders' }),
)

/** Folders belong to their owner alone: these calls are about those of the caller. */
export function folderRoutes(
  server: Server,
  storage: Storage,
  { read, write }: { read: Guard; write: Guard },
): void {
  server.post('/file/folders', {
    onRequest: write,
    schema: {
      operationId: 'createFolder',
      summary: 'Create a folder, and those above it',
      description: 'A folder that is there already is 200.',
      tags,
      body: FolderBody,
      response: { 200: FolderReply, 201: FolderReply },
      problems: [tooManyFolders],
    },
    handler: async ({ caller, body }, reply) => {
      const created = await createFolder(storage, caller, folderPath(body.path, 'path'))
      return reply.code(created.isNew ? 201 : 200).send(created.folder)
    },
  })

  server.get('/file/folders', {
    onRequest: read,
    schema: {
      operationId: 'folders',
      summary: 'The folders directly below another, by name',
      tags,
      querystring: Type.Object({ path: Type.Optional(path) }),
      response: { 200: FoldersReply },
      problems: [folderNotFound],
    },
    handler: async ({ caller, query }, reply) => {
      const below = folderPath(query.path ?? ROOT, 'path')
      const folders = await foldersBelow(storage, caller, below)
      reply.type('application/json; charset=utf-8')
      return reply.send(Readable.from(listOf(below, folders)))
    },
  })

  changeRoutes(server, storage, write)
}

function changeRoutes(server: Server, storage: Storage, write: Guard): void {
  server.post('/file/folders/move', {
    onRequest: write,
    schema: {
      operationId: 'moveFolder',
      summary: 'Move or rename a folder, with all that is in it',
      tags,
      body: MoveBody,
      response: { 200: MovedReply },
      problems: [folderNotFound, folderExists, tooManyFolders],
    },
    handler: ({ caller, body }) => {
      const [from, to] = [folderPath(body.from, 'from'), folderPath(body.to, 'to')]
      return moveFolder(storage, caller, { from, to })
    },
  })

  server.delete('/file/folders', {
    onRequest: write,
    schema: {
      operationId: 'deleteFolder',
      summary: 'Delete a folder',
      description: 'With `recursive=true` also what is in it: the files go to the trash.',
      tags,
      querystring: Type.Object({ path, recursive: Type.Optional(oneOf('true', 'false')) }),
      response: { 200: DeletedReply, 204: noContent },
      problems: [folderNotFound, folderNotEmpty, storageUnavailable],
    },
    handler: async ({ caller, query }, reply) => {
      const deleted = folderPath(query.path, 'path')
      if (query.recursive === 'true') return deleteWithFiles(storage, caller, deleted)
      await deleteFolder(storage, caller, deleted)
      return reply.code(204).send()
    },
  })
}

async function* listOf(below: string, batches: AsyncIterable<object[]>): AsyncGenerator<string> {
  yield `{"path":${JSON.stringify(below)},"folders":[`
  let separator = ''
  for await (const folders of batches) {
    if (folders.length === 0) continue
    yield separator + folders.map((folder) => JSON.stringify(folder)).join(',')
    separator = ','
  }
  yield ']}'
}
