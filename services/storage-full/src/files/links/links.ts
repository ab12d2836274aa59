import { inTransaction } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import { insertLinkEvent } from '../events.ts'
import { findFile } from '../files.repository.ts'
import { isOwnerEnabled, requireFile } from '../files.ts'
import { fileNotFound, linkNotFound, openedLinkNotFound } from '../problems.ts'
import type { Storage, StoredFile } from '../storage.ts'
import {
  deleteLink,
  findLinkedFileId,
  insertLink,
  listLinks,
  updateOpened,
} from './links.repository.ts'

export const MAX_LINK_SECONDS = 7 * DAY_SECONDS

// A browser tab that opens an audio or video file requests it a second time, from its own origin.
const MEDIA_POLICY = "default-src 'none'; media-src 'self'; sandbox allow-same-origin"

// A browser tab shows a picture in a document of its own, with inline styles. In SVG, styles are the picture's.
const PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

type LinkRequest = { id: number; expiresInSeconds: number }

/** The reply is the only place the token appears: the database keeps its hash. */
export async function createLink(storage: Storage, caller: Caller, request: LinkRequest) {
  const { id, expiresInSeconds } = request
  await requireFile(storage, caller, id)
  const token = newOpaqueToken()
  const createdAt = storage.clock()
  const expiresAt = secondsAfter(createdAt, expiresInSeconds)
  const link = { fileId: id, tokenHash: hashOpaqueToken(token), createdAt, expiresAt }
  await inTransaction(storage.db, async (db) => {
    const linkId = await insertLink(db, link)
    if (linkId === undefined) throw fileNotFound()
    const data = { linkId, fileId: id, expiresAt: expiresAt.toISOString() }
    await insertLinkEvent(db, 'link.created', data, createdAt)
  })
  const url = `${storage.publicUrl}/file/presigned/${token}`
  return { id, token, url, expiresInSeconds, expiresAt: expiresAt.toISOString() }
}

/**
 * The file behind a token that is known, unexpired and not revoked, if the owner is not disabled.
 * Counts the opening of the link if asked to.
 */
export async function fileBehindLink(
  storage: Storage,
  token: string,
  { counted }: { counted: boolean },
): Promise<StoredFile> {
  const { db, clock } = storage
  const tokenHash = hashOpaqueToken(token)
  const now = clock()
  const fileId = await findLinkedFileId(db, tokenHash, now)
  const file = fileId === undefined ? undefined : await findFile(db, fileId)
  if (file?.state !== 'stored' || !(await isOwnerEnabled(storage, file))) throw openedLinkNotFound()
  if (counted) await countOpening(storage, tokenHash, now)
  return file
}

async function countOpening({ db }: Storage, tokenHash: string, now: Date): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const opened = await updateOpened(transaction, tokenHash, now)
    if (!opened) throw openedLinkNotFound()
    await insertLinkEvent(transaction, 'link.used', opened, now)
  })
}

/** Caches must not keep the bytes, search engines must not list them, and scripts in them must not run. */
export function linkHeaders({ embed }: Storage, file: StoredFile): Record<string, string> {
  return {
    'cache-control': 'no-store',
    'x-robots-tag': 'noindex',
    'cross-origin-resource-policy': embed === 'anyone' ? 'cross-origin' : 'same-origin',
    ...policyFor(file),
  }
}

function policyFor({ contentType }: StoredFile): Record<string, string> {
  if (/^(audio|video)\//.test(contentType)) return { 'content-security-policy': MEDIA_POLICY }
  const isPicture = /^image\/(?!svg)/.test(contentType)
  return isPicture ? { 'content-security-policy': PICTURE_POLICY } : {}
}

export async function linksOf(storage: Storage, caller: Caller, fileId: number) {
  const file = await requireFile(storage, caller, fileId)
  return listLinks(storage.db, file.id, storage.clock())
}

export async function revokeLink(
  storage: Storage,
  caller: Caller,
  { fileId, linkId }: { fileId: number; linkId: number },
): Promise<void> {
  const file = await requireFile(storage, caller, fileId)
  if (!(await deleteLink(storage.db, file.id, linkId))) throw linkNotFound()
}
