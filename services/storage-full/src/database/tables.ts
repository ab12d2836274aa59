import type { AccountTables } from '@plinth/accounts'
import type { Db, IssuerTables, ServiceKeyTables } from '@plinth/kit'
import type { Generated } from 'kysely'

export type StorageTables = AccountTables & IssuerTables & ServiceKeyTables & OwnTables

export type StorageDb = Db<StorageTables>

type OwnTables = {
  /** Where files are or were put. A row is never deleted: old files are read through it. */
  storage_locations: {
    id: Generated<number>
    provider: ProviderName
    /** What makes it the same place: a folder, or an endpoint and a bucket. */
    place: string
    /** The keys of this installation start with it, so that a shared bucket is swept safely. */
    prefix: string
    sealed_settings: string
    created_at: string
  }
  /** What an administrator saved last for each provider; used at the next activation. */
  storage_settings: { provider: ProviderName; sealed_settings: string; saved_at: string }
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
    location_id: number
    /** The object's name at its location; a move gives it a new one. */
    object_name: string
    state: FileState
    thumbnail: ThumbnailState
    created_at: string
  }
  /** What a file in the state `restorable` is kept for. The row goes when it is restored, or with the file. */
  restorable_files: {
    file_id: number
    deleted_by: string
    deleted_at: string
    restorable_until: string
  }
  /** What each owner has stored, so that no page and no quota counts a million rows. */
  file_totals: { owner_id: string; total: number; bytes: Generated<number> }
  /** On PostgreSQL what was added to that since, in rows that take turns. */
  file_total_parts: { owner_id: string; part: number; total: number; bytes: number }
  /** A view of both. */
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
  /** Objects without a file, and when the sweeper saw each of them first. */
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
    last_error: string | null
    requested_by: string
    created_at: string
    updated_at: string
  }
}

/** A `restorable` file is deleted for everyone but for the one who may restore it; `deleting` is final. */
export type FileState = 'stored' | 'restorable' | 'deleting'

/** Not requested yet, kept beside the object, or not possible for this file. */
export type ThumbnailState = 'none' | 'kept' | 'impossible'

export type MoveState = 'RUNNING' | 'DONE' | 'CANCELLED'

export const PROVIDER_NAMES = ['LOCAL', 'OBJECT'] as const

export type ProviderName = (typeof PROVIDER_NAMES)[number]
