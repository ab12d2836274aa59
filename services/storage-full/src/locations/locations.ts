import { randomBytes } from 'node:crypto'
import type { By } from '@plinth/accounts'
import { inTransaction } from '@plinth/kit/database'
import { Type } from '@plinth/kit/http'
import type { Logger } from '@plinth/kit/logging'
import { type Clock, isRecent } from '@plinth/kit/runtime'
import { recordStorageEvent } from '../audit.ts'
import { PROVIDER_NAMES, type ProviderName, type StorageDb } from '../database/tables.ts'
import { type EndpointRules, normalEndpoint } from './endpoints.ts'
import {
  findActiveLocation,
  findLocation,
  findLocationAt,
  findSealedSettings,
  listLocations,
  lockSealedSettings,
  updateActiveLocation,
  updateLocationPlace,
  updateSealedSettings,
  upsertLocation,
} from './locations.repository.ts'
import { storageNotConfigured } from './problems.ts'
import type { Location, ProviderSettings, Providers } from './providers/provider.ts'

export {
  countFilesAt,
  findActiveLocation,
  findLocation,
  listLocations,
} from './locations.repository.ts'

/** What the rules about locations need. */
export type LocationContext = {
  db: StorageDb
  clock: Clock
  log: Logger
  providers: Providers
  active: ActiveLocation
  limits: { objectEndpoints: EndpointRules }
}

const FIRST_FOLDER = 'files'

const spelling = { message: 'must be LOCAL or OBJECT' }

/** A provider in the body of a request, exactly as the specification spells it. */
export const ProviderField = Type.Union([
  Type.Literal('LOCAL', spelling),
  Type.Literal('OBJECT', spelling),
])

/** The settings last saved for a provider, whether or not they are in use. */
export async function findSettings(
  { db, providers }: Pick<LocationContext, 'db' | 'providers'>,
  provider: ProviderName,
): Promise<ProviderSettings | undefined> {
  const sealed = await findSealedSettings(db, provider)
  return sealed === undefined ? undefined : providers.unseal(provider, sealed)
}

export async function requireSettings(
  context: LocationContext,
  provider: ProviderName,
): Promise<ProviderSettings> {
  const settings = await findSettings(context, provider)
  if (!settings) throw storageNotConfigured({ extra: { provider } })
  return settings
}

/** Saving never activates: until the provider is activated, uploads go to the same place as before. */
export async function saveSettings(
  { db, clock, providers }: LocationContext,
  settings: ProviderSettings,
): Promise<void> {
  await updateSealedSettings(db, settings.provider, providers.seal(settings), clock())
}

/** Saves what `change` returns. Of two concurrent changes, the second sees the result of the first. */
export async function changeSettings(
  context: LocationContext,
  by: By,
  provider: ProviderName,
  change: (before: ProviderSettings | undefined) => ProviderSettings,
): Promise<void> {
  await inTransaction(context.db, async (db) => {
    await lockSealedSettings(db, provider)
    const before = await findSettings({ ...context, db }, provider)
    const settings = change(before)
    await saveSettings({ ...context, db }, settings)
    const subject = nameOf(settings)
    await recordStorageEvent(
      { ...context, db },
      { event: 'STORAGE_CONFIGURED', actor: by.actor, subject },
      by.origin,
    )
  })
}

export async function requireActiveLocation(db: StorageDb): Promise<Location> {
  const active = await findActiveLocation(db)
  if (!active) throw new Error('No storage location is active')
  return active
}

/** Where uploads go. */
export type ActiveLocation = { find(): Promise<Location>; forget(): void }

const REMEMBERED_SECONDS = 0.5

/**
 * Caches the active location, so that it is not read for every upload. It changes only when an
 * administrator activates another: this node then forgets it, and other nodes notice within a second.
 */
export function rememberActive(db: StorageDb, clock: Clock): ActiveLocation {
  let known: Promise<Location> | undefined
  let readAt = clock()
  const forget = () => {
    known = undefined
  }
  const find = () => {
    const now = clock()
    if (known && isRecent(readAt, REMEMBERED_SECONDS, now)) return known
    readAt = now
    const read = requireActiveLocation(db)
    known = read
    read.catch(() => known === read && forget())
    return read
  }
  return { find, forget }
}

/** The settings as an administrator sees them, without credentials. */
export function describeLocation(settings: ProviderSettings) {
  switch (settings.provider) {
    case 'LOCAL':
      return { provider: settings.provider, path: settings.local.path }
    case 'OBJECT': {
      const { endpoint, region, bucket, pathStyleAccess } = settings.object
      return { provider: settings.provider, endpoint, region, bucket, pathStyleAccess }
    }
  }
}

/** A location as the audit names it: `OBJECT files at https://store.example`. */
export function nameOf(settings: ProviderSettings): string {
  switch (settings.provider) {
    case 'LOCAL':
      return `LOCAL ${settings.local.path}`
    case 'OBJECT':
      return `OBJECT ${settings.object.bucket} at ${settings.object.endpoint}`
  }
}

/** The existing location for these settings, if there is one, even under an old spelling of the endpoint. */
export async function findLocationFor(
  { db, providers }: Pick<LocationContext, 'db' | 'providers'>,
  settings: ProviderSettings,
): Promise<Location | undefined> {
  const place = placeOf(settings)
  const found = await findLocationAt(db, settings.provider, place)
  if (found || settings.provider === 'LOCAL') return found
  const isThere = ({ provider, sealedSettings }: Location) =>
    provider === 'OBJECT' && placeOf(providers.unseal(provider, sealedSettings)) === place
  return (await listLocations(db)).findLast(isThere)
}

/** A provider for saved settings; if the place was in use before, it finds the files there. */
export async function openTrial(context: LocationContext, settings: ProviderSettings) {
  const known = await findLocationFor(context, settings)
  return context.providers.trial(settings, known?.prefix)
}

/**
 * The location for these settings. Only a new one is prepared, before it is recorded: a known place
 * that has disappeared must not come back empty.
 */
export async function locate(
  context: LocationContext,
  settings: ProviderSettings,
): Promise<Location> {
  const { db, clock, providers } = context
  const { provider } = settings
  const place = placeOf(settings)
  const sealedSettings = providers.seal(settings)
  const known = await findLocationFor(context, settings)
  if (known) {
    await updateLocationPlace(db, known.id, { provider, place, sealedSettings })
    return { ...known, sealedSettings }
  }
  const prefix = `files-${randomBytes(6).toString('hex')}`
  await providers.trial(settings, prefix).prepare()
  return upsertLocation(db, { provider, place, prefix, sealedSettings, now: clock() })
}

/** `by` is absent only on the first start. */
export async function activate(
  context: LocationContext,
  settings: ProviderSettings,
  by?: By,
): Promise<Location> {
  const location = await locate(context, settings)
  await inTransaction(context.db, async (db) => {
    await updateActiveLocation(db, location.id, context.clock())
    if (!by) return
    await recordStorageEvent(
      { ...context, db },
      { event: 'STORAGE_ACTIVATED', actor: by.actor, subject: nameOf(settings) },
      by.origin,
    )
  })
  context.active.forget()
  return location
}

/** Replaces a bucket by a folder below the root, for a copy of the data that must not touch the bucket. */
export async function keepLocationHere(
  { db, providers }: Pick<LocationContext, 'db' | 'providers'>,
  id: number,
): Promise<void> {
  const location = await findLocation(db, id)
  if (location?.provider !== 'OBJECT') return
  providers.unseal('OBJECT', location.sealedSettings)
  const settings: ProviderSettings = { provider: 'LOCAL', local: { path: `bucket-${id}` } }
  const sealedSettings = providers.seal(settings)
  await updateLocationPlace(db, id, { ...settings, place: placeOf(settings), sealedSettings })
}

/** Equal for settings that lead to the same files: new keys for a bucket do not change its place. */
function placeOf(settings: ProviderSettings): string {
  switch (settings.provider) {
    case 'LOCAL':
      return settings.local.path
    case 'OBJECT':
      return `${normalEndpoint(settings.object.endpoint)} ${settings.object.bucket}`
  }
}

/** Configures and activates a folder on the first start, so that the service works at once. */
export async function prepareFirstStart(context: LocationContext): Promise<void> {
  if (await findActiveLocation(context.db)) return
  const settings: ProviderSettings = { provider: 'LOCAL', local: { path: FIRST_FOLDER } }
  await saveSettings(context, settings)
  await activate(context, settings)
}

/** Makes a wrong master key fail at startup, not at the first download. */
export async function requireReadableSettings(context: LocationContext): Promise<void> {
  for (const { provider, sealedSettings } of await listLocations(context.db))
    context.providers.unseal(provider, sealedSettings)
  for (const provider of PROVIDER_NAMES) await findSettings(context, provider)
}
