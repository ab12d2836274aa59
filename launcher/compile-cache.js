import module from 'node:module'
import { join } from 'node:path'

/**
 * Keeps compiled code, with its types stripped, for later starts. It lies beside the packages it was
 * made from; where that folder is missing or read-only, starting is only slower.
 */
export function keepCompiledCode() {
  module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/plinth'))
}
