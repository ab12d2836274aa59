import { type AccountTables, SEALED_ACCOUNT_COLUMNS } from '@plinth/accounts'
import type { IssuerTables } from '@plinth/erased-users'
import type { Db } from '@plinth/kit/database'
import type { Sealed, SealedColumns } from '@plinth/kit/tokens'
import type { ServiceKeyTables } from '@plinth/service-keys'
import type { Generated } from 'kysely'

export type StorageTables = AccountTables & IssuerTables & ServiceKeyTables & OwnTables

export const SEALED_COLUMNS: SealedColumns<StorageTables> = {
  ...SEALED_ACCOUNT_COLUMNS,
  storage_locations: { sealed_settings: true },
  storage_settings: { sealed_settings: true },
}

export type StorageDb = Db<StorageTables>

type OwnTables = {
  /** Where files are or were stored. A row is never deleted: old files are read through it. */
  storage_locations: {
    id: Generated<number>
    provider: ProviderName
    /** Identifies the place: a folder, or an endpoint and a bucket. */
    place: string
    /** Every object key of this installation starts with it, so that sweeping a shared bucket is safe. */
    prefix: string
    sealed_settings: Sealed
    created_at: string
  }
  /** The settings an administrator last saved for each provider; they take effect at the next activation. */
  storage_settings: { provider: ProviderName; sealed_settings: Sealed; saved_at: string }
  /** One row. */
  active_storage: { id: number; location_id: number; activated_at: string }
  files: {
    id: Generated<number>
    owner_id: string
    owner_name: string
    original_filename: string
    stored_filename: string
    extension: string
    content_type: string
    size_bytes: number
    checksum_sha256: string
    /** Null when an earlier version stored the file. */
    crc32: number | null
    location_id: number
    /** The object's name at its location; a move gives it a new one. */
    object_name: string
    state: FileState
    thumbnail: ThumbnailState
    created_at: string
    /** 1 at first; replacing the content adds 1. */
    version: Generated<number>
    /** When the content was last replaced; null for the first version. */
    replaced_at: string | null
    /** Null: in `/`. */
    folder_id: number | null
    /** The path from which a deleted file came, once that folder is gone. */
    former_folder: string | null
    /** The name as names are sorted: without case and marks. */
    folded_name: Generated<string>
    /** What the file is found by, each between two spaces; null until a job has filled them in. */
    words: string | null
    /** JSON; null: none. */
    tags: string | null
    /** JSON; null: none. */
    metadata: string | null
    /** Null: not changed since it was stored. */
    updated_at: string | null
  }
  /** Earlier content of files: kept, or about to be removed. */
  file_versions: {
    id: Generated<number>
    file_id: number
    /** That of the file. */
    owner_id: string
    version: number
    size_bytes: number
    checksum_sha256: string
    location_id: number
    object_name: string
    state: VersionState
    /** When this content was stored. */
    created_at: string
  }
  folders: {
    id: Generated<number>
    owner_id: string
    /** Null: directly below `/`, which has no row. */
    parent_id: number | null
    /** Of an owner, unique; without a slash at the end. */
    path: string
    created_at: string
  }
  /** The `words` of each file, also of a deleted one. */
  file_words: { owner_id: string; word: string; file_id: number }
  /** Who deleted a `restorable` file, and until when it can be restored. Deleted on restore, or with the file. */
  restorable_files: {
    file_id: number
    deleted_by: string
    deleted_at: string
    restorable_until: string
  }
  /** The usage of each owner, so that no page and no quota check has to count a million rows. */
  file_totals: { owner_id: string; total: number; bytes: Generated<number> }
  /** PostgreSQL only: later changes to these totals, spread over several rows per owner. See `PARTS`. */
  file_total_parts: { owner_id: string; part: number; total: number; bytes: number }
  /** A view: the sum of both tables. */
  owner_usage: { owner_id: string; total: number; bytes: number }
  temporary_links: {
    id: Generated<number>
    file_id: number
    token_hash: string
    created_at: string
    expires_at: string
    opened_count: number
    last_opened_at: string | null
  }
  /** Objects without a file, and when the sweeper first saw each of them. */
  orphans: { location_id: number; object_key: string; first_seen_at: string }
  file_moves: {
    id: Generated<number>
    target_location_id: number
    state: MoveState
    total: number
    moved: number
    failed: number
    moved_bytes: number
    /** Files up to this id are done. */
    cursor_id: number
    /** The same for earlier versions, which follow the files. */
    version_cursor_id: Generated<number>
    last_error: string | null
    requested_by: string
    created_at: string
    updated_at: string
  }
  /** Uploads that arrive in several requests. */
  uploads: {
    id: string
    owner_id: string
    owner_name: string
    filename: string
    /** The media type that the client declared, or that of the extension. */
    declared_type: string
    /** As the client sent it at creation. */
    metadata: string
    /** The checksum that the whole file must have, if the client gave one. */
    sha256: string | null
    /** The path of the folder that the file goes into, which may not exist yet. */
    folder: string
    length: number
    /** How many bytes are durable. */
    received: number
    location_id: number
    /** The object's name when it is complete. */
    object_name: string
    multipart_id: string | null
    tail: string | null
    state: UploadState
    file_id: number | null
    /** The process whose request has the upload now. */
    holder: string | null
    /** By the database's clock. A holder that is alive renews it. */
    held_until_ms: number
    /** Grows with every holder, so that one that has lost the upload cannot write to this row. */
    fence: number
    /** 1 when another request waits for the holder to let go. */
    wanted: number
    /** 1 when a holder lost the upload without letting go: it may have written to the bytes since. */
    seized: number
    created_at: string
    expires_at: string
    /** The file whose content this upload replaces. */
    replaces: number | null
    /** The `If-Match` that the file must satisfy when it is replaced. */
    if_match: string | null
    /** Whose quota the upload counts in, if not its creator's. */
    quota_owner_id: string | null
  }
  /** The parts that a bucket has of an upload. */
  upload_parts: { upload_id: string; number: number; etag: string }
  /** What is known of the picture in an object. Without a width it is none: broken, or beyond the limits. */
  pictures: {
    object_name: string
    file_id: number
    /** As it is seen, after its orientation is applied. */
    width: number | null
    height: number | null
    frames: number | null
    transparent: number | null
  }
  /** The renditions that are kept beside the object of a picture. */
  renditions: {
    id: Generated<number>
    object_name: string
    /** The parsed parameters in one spelling, with the format that was chosen. */
    parameters: string
    location_id: number
    /** The name of the rendition's own object; never used twice. */
    name: string
    size_bytes: number
    checksum_sha256: string
    used_at: string
  }
  /** Limits that administrators have changed. A limit without a row is that of the settings. */
  changed_limits: { name: string; value: number; changed_at: string }
  /** Permissions to download some files as one archive. */
  zip_tokens: {
    token_hash: string
    /** What the archive holds is what this user may read at the time. */
    maker_id: string
    name: string
    /** JSON. */
    file_ids: string
    /** JSON. */
    folder_ids: string
    created_at: string
    expires_at: string
  }
}

/**
 * `receiving` reserves its length in the owner's quota. `finished` has become a file, and is remembered for a while.
 * `ended` was refused, cancelled or has expired: its bytes are being removed.
 */
export type UploadState = 'receiving' | 'finished' | 'ended'

/** The bytes of a `deleting` version are being removed. */
export type VersionState = 'kept' | 'deleting'

/** A `restorable` file looks deleted to everyone except those who may restore it; `deleting` is final. */
export type FileState = 'stored' | 'restorable' | 'deleting'

/** Not requested yet, kept beside the object, or not possible for this file. */
export type ThumbnailState = 'none' | 'kept' | 'impossible'

type MoveState = 'RUNNING' | 'DONE' | 'CANCELLED'

export const PROVIDER_NAMES = ['LOCAL', 'OBJECT'] as const

export type ProviderName = (typeof PROVIDER_NAMES)[number]
