declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  /** The little of it that the tests use. */
  export default class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
  }
}
