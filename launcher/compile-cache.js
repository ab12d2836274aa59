import module from 'node:module'
import { join } from 'node:path'

/**
 * Code is compiled, and its types are stripped, once for all starts. Kept with the packages it was
 * made from; where that folder is missing or read-only, things are only slower.
 */
export function keepCompiledCode() {
  module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/plinth'))
}
