import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../../../node_modules/.cache/plinth-tests/joined')

/** Packages with hundreds of files, and the path of the bundle of each. */
export const JOINED = ['kysely', 'jose'].map((name) => ({
  name,
  file: join(FOLDER, `${name}.mjs`),
}))
