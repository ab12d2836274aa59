import type { By } from '@plinth/accounts'
import { type Followed, followDatabase, inTransaction } from '@plinth/kit/database'
import { recordStorageEvent } from '../audit.ts'
import type { StorageDb } from '../database/tables.ts'
import type { Storage } from '../files/storage.ts'
import {
  type ChangedLimit,
  deleteChangedLimit,
  listChangedLimits,
  upsertChangedLimit,
} from './limits.repository.ts'

/** The limits that administrators may change while the service runs. Each is named after its setting. */
const LIMIT_NAMES = [
  'userBytes',
  'userFiles',
  'trashBytes',
  'restorableSeconds',
  'versions',
] as const

type LimitName = (typeof LIMIT_NAMES)[number]
type LimitValues = Record<LimitName, number>

/** Null: what the settings say again. */
export type LimitChanges = { [Name in LimitName]?: number | null }

type Limits = Storage['limits']

/** 0 stands for no limit, as in the settings. */
function valuesOf({ quota, trashBytes, restorableSeconds, versions }: Limits): LimitValues {
  return {
    userBytes: quota.bytes ?? 0,
    userFiles: quota.files ?? 0,
    trashBytes: trashBytes ?? 0,
    restorableSeconds,
    versions,
  }
}

/** What applies, and what the settings say, for each limit. */
export async function describeLimits({ db }: Pick<Storage, 'db'>, settings: Limits) {
  const changed = await listChangedLimits(db)
  const values = valuesOf(settings)
  const describe = (name: LimitName) => {
    const change = changed.find((each) => each.name === name)
    const setting = values[name]
    return { value: change?.value ?? setting, setting, changedAt: change?.changedAt ?? null }
  }
  return {
    userBytes: describe('userBytes'),
    userFiles: describe('userFiles'),
    trashBytes: describe('trashBytes'),
    restorableSeconds: describe('restorableSeconds'),
    versions: describe('versions'),
  }
}

/** Saves what differs from what applies, with one audit event for each limit. */
export async function changeLimits(
  { db: database, clock }: Storage,
  { settings, changes }: { settings: Limits; changes: LimitChanges },
  by: By,
): Promise<void> {
  const configured = valuesOf(settings)
  await inTransaction(database, async (db) => {
    const before = new Map((await listChangedLimits(db)).map(({ name, value }) => [name, value]))
    for (const name of LIMIT_NAMES) {
      const value = changes[name]
      if (value === undefined || value === (before.get(name) ?? null)) continue
      if (value === null) await deleteChangedLimit(db, name)
      else await upsertChangedLimit(db, { name, value, changedAt: clock().toISOString() })
      const was = before.get(name) ?? configured[name]
      const reason = `${was}, now ${value ?? `${configured[name]} as in the settings`}`
      const entry = { event: 'LIMIT_CHANGED', actor: by.actor, subject: name, reason } as const
      await recordStorageEvent({ db, clock }, entry, by.origin)
    }
  })
}

/** Makes changes apply to this process, also those that were made at another node. */
export function followLimits({ db, limits, log }: Storage, settings: Limits): Followed {
  return followDatabase({
    name: 'changed limits',
    log,
    read: () => listChangedLimits(db),
    apply: (changed) => apply(limits, valuesOf(settings), changed),
  })
}

/** Every rule reads `storage.limits` anew, so what is put there applies from now on. */
export async function applyChangedLimits(
  { db, limits }: { db: StorageDb; limits: Limits },
  settings: Limits,
): Promise<void> {
  apply(limits, valuesOf(settings), await listChangedLimits(db))
}

function apply(limits: Limits, settings: LimitValues, changed: ChangedLimit[]): void {
  const values: LimitValues = { ...settings }
  for (const { name, value } of changed) if (isLimitName(name)) values[name] = value
  limits.quota = { bytes: values.userBytes || undefined, files: values.userFiles || undefined }
  limits.trashBytes = values.trashBytes || undefined
  limits.restorableSeconds = values.restorableSeconds
  limits.versions = values.versions
}

function isLimitName(name: string): name is LimitName {
  return LIMIT_NAMES.some((known) => known === name)
}
