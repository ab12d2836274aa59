import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, '../../../node_modules/.cache/plinth-tests/joined')

/** The packages that have hundreds of files, and where each of them is as one. */
export const JOINED = ['kysely', 'jose'].map((name) => ({
  name,
  file: join(FOLDER, `${name}.mjs`),
}))
