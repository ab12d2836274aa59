/** `node test/documents/openapi.ts` writes the API document of each service, the client's types from them, and the
 * names of its methods. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DOCUMENTED, openApiDocument } from '../../cli/commands/run/openapi.ts'
import { writeGeneratedTypes } from '../../packages/client/generate.ts'
import { writeClientMethods } from './client-methods.ts'

export const FOLDER = join(import.meta.dirname, '../../docs/openapi')

export async function openApiDocuments(): Promise<Record<string, string>> {
  const documents = DOCUMENTED.map(async (name) => [
    name,
    `${JSON.stringify(await openApiDocument(name, process.env), null, 2)}\n`,
  ])
  return Object.fromEntries(await Promise.all(documents))
}

if (import.meta.main) {
  await mkdir(FOLDER, { recursive: true })
  for (const [name, text] of Object.entries(await openApiDocuments()))
    await writeFile(join(FOLDER, `${name}.json`), text)
  await writeGeneratedTypes()
  await writeClientMethods(FOLDER)
}
