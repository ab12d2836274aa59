import module from 'node:module'
import { join } from 'node:path'

/**
 * Caches compiled code, with its types stripped, for later starts. The cache lives beside the packages it was
 * made from; if that folder is missing or read-only, starting is just slower.
 */
export function keepCompiledCode() {
  module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/plinth'))
}
