import type { RunningService } from './services.ts'

/** A console's address that knows the way back here. */
export function consoleAddress({ name, consoleUrl }: RunningService, page = ''): string {
  const back = name !== 'provider-sandbox' && location.port ? `?suite=${location.port}` : ''
  return `${consoleUrl}${back}${page}`
}
