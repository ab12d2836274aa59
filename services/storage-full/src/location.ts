import type { ProviderName } from './providers/provider.ts'

/** A place that files were put into: a folder below the root, or a bucket. */
export type Location = {
  id: number
  provider: ProviderName
  prefix: string
  sealedSettings: string
}
