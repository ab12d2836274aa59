import { ACCOUNT_EVENTS } from '@plinth/accounts'
import {
  type EventCatalogue,
  type FirstEvent,
  firstEvent,
  insertEvent,
  KEY_EVENTS,
} from '@plinth/events'
import { oneOf, orNull, Type, timestamp } from '@plinth/kit/http'
import { PROVIDER_NAMES, type StorageDb } from '../database/tables.ts'
import { type NewFile, type StoredFile, shownOwnerId } from './storage.ts'

export const SOURCE = 'storage-full'

const FileData = Type.Object(
  {
    fileId: Type.Integer(),
    ownerId: Type.Union([Type.Integer(), Type.String()]),
    contentType: Type.String({ examples: ['image/png'] }),
    size: Type.Integer({ minimum: 0, description: 'In bytes', examples: [48_213] }),
    checksumSha256: Type.String({
      examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
    }),
    provider: oneOf(...PROVIDER_NAMES),
  },
  { title: 'FileEventData' },
)

const version = Type.Integer({ minimum: 1, examples: [2] })

const ReplacedData = Type.Object(
  { ...FileData.properties, version },
  { title: 'FileReplacedEventData' },
)

const PurgedData = Type.Object(
  {
    ...FileData.properties,
    version: orNull({ ...version, description: 'null: the file, with all its versions' }),
  },
  { title: 'FilePurgedEventData' },
)

const FolderData = Type.Object(
  {
    ownerId: Type.Union([Type.Integer(), Type.String()]),
    files: Type.Integer({ minimum: 0, description: 'In the folder and below it', examples: [12] }),
  },
  { title: 'FolderEventData' },
)

const LinkData = Type.Object(
  { linkId: Type.Integer(), fileId: Type.Integer(), expiresAt: timestamp() },
  { title: 'LinkEventData' },
)

/** Events about files and links, and about the accounts and keys of this service. */
export const STORAGE_EVENTS: EventCatalogue = {
  'file.uploaded': { description: 'A file was stored.', data: FileData },
  'file.deleted': { description: 'A file was deleted.', data: FileData },
  'file.restored': { description: 'A deletion was undone.', data: FileData },
  'file.updated': {
    description: 'The name, folder, tags or metadata of a file were changed.',
    data: FileData,
  },
  'file.moved': {
    description: 'A file was moved to another provider or location.',
    data: FileData,
  },
  'file.replaced': {
    description:
      'The content of a file was replaced; size and checksum are those of the new content.',
    data: ReplacedData,
  },
  'file.purged': {
    description: 'A file in the trash, or an earlier version of a file, was removed for good.',
    data: PurgedData,
  },
  'folder.moved': { description: 'A folder was moved or renamed.', data: FolderData },
  'link.created': { description: 'A temporary link to a file was created.', data: LinkData },
  'link.used': { description: 'A temporary link was opened.', data: LinkData },
  ...ACCOUNT_EVENTS,
  ...KEY_EVENTS,
}

const PREFIX = 'file:'

type Published = Pick<
  StoredFile,
  'ownerId' | 'contentType' | 'sizeBytes' | 'checksumSha256' | 'location'
>

/** Leaves out the file name, which may contain personal data. */
function dataOf({ ownerId, contentType, sizeBytes, checksumSha256, location }: Published) {
  const { provider } = location
  return { ownerId: shownOwnerId(ownerId), contentType, size: sizeBytes, checksumSha256, provider }
}

export function uploadEvent(file: NewFile): FirstEvent {
  const about = { type: 'file.uploaded', prefix: PREFIX, idName: 'fileId', data: dataOf(file) }
  return firstEvent({ ...about, at: file.createdAt })
}

/** Call it in the transaction of the change. */
export async function insertFileEvent(
  db: StorageDb,
  type: 'file.deleted' | 'file.restored' | 'file.moved' | 'file.updated',
  file: StoredFile,
  at: Date,
): Promise<void> {
  const data = { fileId: file.id, ...dataOf(file) }
  const subject = `${PREFIX}${file.id}`
  await insertEvent(db, { type, subject, data, at })
}

/** Call it in the transaction of the change. */
export async function insertReplacedEvent(
  db: StorageDb,
  file: StoredFile,
  at: Date,
): Promise<void> {
  const data = { fileId: file.id, ...dataOf(file), version: file.version }
  await insertEvent(db, { type: 'file.replaced', subject: `${PREFIX}${file.id}`, data, at })
}

/** `version`: only this one was removed. Call it in the transaction of the change. */
export async function insertPurgedEvent(
  db: StorageDb,
  { id, version, ...removed }: Published & { id: number; version: number | null },
  at: Date,
): Promise<void> {
  const data = { fileId: id, ...dataOf(removed), version }
  await insertEvent(db, { type: 'file.purged', subject: `${PREFIX}${id}`, data, at })
}

type MovedFolder = { id: number; ownerId: string; files: number }

/** Leaves out the paths, which may contain personal data. */
export async function insertFolderEvent(
  db: StorageDb,
  type: 'folder.moved',
  { id, ownerId, files }: MovedFolder,
  at: Date,
): Promise<void> {
  const data = { ownerId: shownOwnerId(ownerId), files }
  await insertEvent(db, { type, subject: `folder:${id}`, data, at })
}

type LinkEventData = { linkId: number; fileId: number; expiresAt: string }

export async function insertLinkEvent(
  db: StorageDb,
  type: 'link.created' | 'link.used',
  link: LinkEventData,
  at: Date,
): Promise<void> {
  const subject = `link:${link.linkId}`
  await insertEvent(db, { type, subject, data: { ...link }, at })
}
