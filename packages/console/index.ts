import { join } from 'node:path'

export type ConsoleName =
  | 'identity'
  | 'account'
  | 'storage-full'
  | 'storage-key'
  | 'payments'
  | 'sandbox'
  | 'reference'
  | 'health'
  | 'landing'

/** The folder of one bundled console, ready to be served as static files. */
export function consoleFolder(name: ConsoleName): string {
  return join(import.meta.dirname, 'dist', name)
}
