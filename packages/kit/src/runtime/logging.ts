import { type DestinationStream, pino } from 'pino'

export type Logger = ReturnType<typeof createLogger>

// Belt and braces: nothing logs these on purpose, and if something ever does, the value is gone.
const SECRETS = [
  'authorization',
  'cookie',
  'password',
  'currentPassword',
  'newPassword',
  'accessToken',
  'refreshToken',
  'token',
  'secret',
  'secretKey',
  'accessKey',
  'x-api-key',
  'apiKey',
]

export function createLogger(name: string, level: string, destination?: DestinationStream) {
  const paths = SECRETS.flatMap((key) => [`["${key}"]`, `*["${key}"]`, `*.*["${key}"]`])
  const options = {
    name,
    level,
    redact: { paths, censor: '[redacted]' },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  return destination ? pino(options, destination) : pino(options)
}
