import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isManifest } from './manifest.ts'

const SERVICE = {
  keyFingerprints: { IDENTITY_MASTER_KEY: '0123456789abcdef' },
  database: {
    migrations: [{ name: '0001-users' }],
    tables: [{ name: 'users', columns: ['id'], rows: 3, next: 4 }],
  },
  files: true,
}
const MANIFEST = {
  version: '2.0.0',
  createdAt: '2026-11-05T02:00:00.000Z',
  bytes: 10,
  services: { identity: SERVICE },
}

const withService = (change: object) => ({
  ...MANIFEST,
  services: { identity: { ...SERVICE, ...change } },
})
const withTable = (change: object) =>
  withService({
    database: {
      ...SERVICE.database,
      tables: [{ ...SERVICE.database.tables[0], ...change }],
    },
  })

test('a manifest may leave out its size, the database of a service and the next id of a table', () => {
  const { bytes: _, ...unsized } = MANIFEST
  for (const manifest of [
    MANIFEST,
    unsized,
    { ...MANIFEST, bytes: 0 },
    { ...MANIFEST, services: {} },
    withService({ database: undefined, files: false }),
    withService({ keyFingerprints: {} }),
    withTable({ next: undefined, columns: [], rows: 0 }),
  ])
    assert.equal(isManifest(manifest), true, JSON.stringify(manifest))
})

test('a manifest with a member of another type is refused', () => {
  const { version: _, ...unversioned } = MANIFEST
  for (const manifest of [
    null,
    'text',
    [],
    unversioned,
    { ...MANIFEST, version: 2 },
    { ...MANIFEST, createdAt: 0 },
    { ...MANIFEST, bytes: -1 },
    { ...MANIFEST, bytes: 0.5 },
    { ...MANIFEST, bytes: '10' },
    { ...MANIFEST, services: null },
    { ...MANIFEST, services: { identity: null } },
    withService({ files: 'yes' }),
    withService({ keyFingerprints: null }),
    withService({ keyFingerprints: { IDENTITY_MASTER_KEY: 1 } }),
    withService({ database: null }),
    withService({ database: { ...SERVICE.database, migrations: null } }),
    withService({ database: { ...SERVICE.database, migrations: [{ name: 1 }] } }),
    withService({ database: { ...SERVICE.database, tables: [null] } }),
    withTable({ name: 1 }),
    withTable({ columns: 'id' }),
    withTable({ columns: [1] }),
    withTable({ rows: '3' }),
    withTable({ rows: 0.5 }),
    withTable({ next: '4' }),
  ])
    assert.equal(isManifest(manifest), false, JSON.stringify(manifest))
})
