import type { StoredFile } from './stored-file.ts'

/** What callers are told of a file: nothing of disk paths, buckets or keys. */
export function describeFile(file: StoredFile) {
  return {
    id: file.id,
    originalFilename: file.originalFilename,
    storedFilename: file.storedFilename,
    extension: file.extension,
    contentType: file.contentType,
    size: file.sizeBytes,
    checksumSha256: file.checksumSha256,
    owner: file.ownerName,
    ownerId: ownerIdOf(file.ownerId),
    provider: file.location.provider,
    createdAt: file.createdAt,
  }
}

/** Accounts of this service have numbers; users of a trusted issuer are named with it. */
function ownerIdOf(ownerId: string): number | string {
  return /^\d+$/.test(ownerId) ? Number(ownerId) : ownerId
}
