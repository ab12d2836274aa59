import {
  type AccountsOptions,
  type AuditQuery,
  OwnAccount,
  openSession,
  Sessions,
  SignIn,
  Users,
} from '../accounts.ts'
import { AuditLog } from '../audit-log.ts'
import { Events, WebhookEndpoints } from '../events.ts'
import type { AuditEvent, ProblemCode, ProblemDetails } from '../generated/storage-full.ts'
import { type Answered, ProblemError } from '../http/errors.ts'
import { IssuerOperations, type ProtectedResource } from '../operations.ts'
import { ServiceKeys } from '../service-keys.ts'
import { type FileReplies, Files, Links, UsageOfStorage } from './files.ts'
import { Folders } from './folders.ts'
import { Moves, StorageSettings } from './settings.ts'
import { Uploads } from './uploads.ts'
import { Versions } from './versions.ts'

export type StorageProblem = Answered<ProblemCode, ProblemDetails>

export class StorageClient extends SignIn {
  readonly account: OwnAccount
  readonly sessions: Sessions
  readonly files: Files
  readonly folders: Folders
  readonly uploads: Uploads
  readonly versions: Versions
  readonly links: Links
  readonly usage: UsageOfStorage
  readonly settings: StorageSettings
  readonly moves: Moves
  readonly users: Users
  readonly audit: AuditLog<AuditEvent, AuditQuery>
  readonly keys: ServiceKeys
  readonly endpoints: WebhookEndpoints
  readonly events: Events
  readonly operations: IssuerOperations

  constructor(baseUrl: string, options: AccountsOptions = {}) {
    // With an issuer, the service also answers what its document does not have.
    const opened = openSession<FileReplies & ProtectedResource>(baseUrl, options)
    const { open, calls } = opened
    super(opened)
    this.account = new OwnAccount(opened)
    this.sessions = new Sessions(opened)
    this.files = new Files(calls, baseUrl)
    this.folders = new Folders(calls)
    this.uploads = new Uploads(calls)
    this.versions = new Versions(calls)
    this.links = new Links(opened)
    this.usage = new UsageOfStorage(calls)
    this.settings = new StorageSettings(calls)
    this.moves = new Moves(calls)
    this.users = new Users(opened)
    this.audit = new AuditLog(calls)
    this.keys = new ServiceKeys(calls)
    this.endpoints = new WebhookEndpoints(calls)
    this.events = new Events(calls)
    this.operations = new IssuerOperations(open)
  }

  /**
   * Whether the service answered with a problem; its `code` is then one of those it has.
   * @example
   * if (storage.isProblem(error) && error.code === 'FILE_NOT_FOUND') console.log(error.message)
   */
  isProblem(error: unknown): error is StorageProblem {
    return error instanceof ProblemError
  }
}

/**
 * @example
 * const storage = storageClient('http://localhost:8082')
 */
export function storageClient(baseUrl: string, options?: AccountsOptions): StorageClient {
  return new StorageClient(baseUrl, options)
}
