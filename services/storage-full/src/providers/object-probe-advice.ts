import { faultCode } from './object-client.ts'

const ON_CONNECT: Record<string, string> = {
  ECONNREFUSED: 'Nothing listens there: check the port of the endpoint, and that the store runs.',
  ABORT_ERR: 'The endpoint does not answer: check the address, the store and the firewall.',
  EHOSTUNREACH: 'The endpoint cannot be reached: check the address, the route and the firewall.',
  ECONNRESET: 'The endpoint hangs up: if it speaks TLS, write https:// instead.',
  EPROTO: 'The endpoint does not speak TLS: write http:// instead.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed: add it to NODE_EXTRA_CA_CERTS.',
  CERT_HAS_EXPIRED: 'The certificate of the endpoint has expired: renew it.',
}

const ON_CREDENTIALS: Record<string, string> = {
  SignatureDoesNotMatch: 'The access key and the secret key do not fit: enter both again.',
  InvalidAccessKeyId: 'The store does not know this access key: enter it again.',
  AccessDenied: 'The access key may not list this bucket: allow it to list, read, write, delete.',
  RequestTimeTooSkewed: 'The clocks differ too much: set this machine’s clock.',
  AuthorizationHeaderMalformed: 'The region is not the one the store expects: correct it.',
  PermanentRedirect: 'The bucket lives in another region: correct the region or the endpoint.',
  TimeoutError: 'The store accepts connections but does not answer: look at the store itself.',
}

export function adviseConnect(error: unknown): string {
  const { code = 'unknown' } = error as NodeJS.ErrnoException
  return ON_CONNECT[code] ?? `The endpoint cannot be spoken to (${code}): check the address.`
}

export function adviseClock(): string {
  return 'The clocks of this machine and of the store differ by minutes: set them.'
}

export function adviseCredentials(error: unknown): string {
  const code = faultCode(error)
  return ON_CREDENTIALS[code] ?? `The store refuses the access key (${code}).`
}

export function adviseBucket(error: unknown): string {
  if (faultCode(error) === 'NoSuchBucket')
    return 'The bucket does not exist: create it, or correct its name.'
  return `The bucket cannot be used (${faultCode(error)}).`
}

export function adviseWrite(): string {
  return 'The bucket cannot be written to: check the rights of the access key, and the store’s disk.'
}
