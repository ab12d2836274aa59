import type {
  RecoveryCodes,
  RecoveryCodesLeft,
  Replies,
  TotpEnrolment,
} from '../generated/identity.ts'
import type { CallOptions, Calls } from '../http/calls.ts'

/** A code from the authenticator app, or a recovery code. */
export type FactorProof = { code: string } | { recoveryCode: string }

/** The authenticator app of the user who is signed in, and the recovery codes that replace it. */
export class SecondFactor {
  readonly #calls: Calls<Replies>

  constructor(calls: Calls<Replies>) {
    this.#calls = calls
  }

  /**
   * `uri` is what the QR code contains.
   * @example
   * const { uri } = await identity.secondFactor.enrol()
   */
  enrol(options?: CallOptions): Promise<TotpEnrolment> {
    return this.#calls.json('POST /api/users/me/totp', {}, options)
  }

  /**
   * From now on a login needs the factor.
   * @example
   * const { recoveryCodes } = await identity.secondFactor.confirm('123456')
   */
  confirm(code: string, options?: CallOptions): Promise<RecoveryCodes> {
    return this.#calls.json('POST /api/users/me/totp/confirm', { json: { code } }, options)
  }

  /**
   * @example
   * await identity.secondFactor.remove({ code: '123456' })
   */
  remove(proof: FactorProof, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('DELETE /api/users/me/totp', { json: proof }, options)
  }

  /**
   * @example
   * const { remaining } = await identity.secondFactor.recoveryCodesLeft()
   */
  recoveryCodesLeft(options?: CallOptions): Promise<RecoveryCodesLeft> {
    return this.#calls.json('GET /api/users/me/recovery-codes', {}, options)
  }

  /**
   * The old codes no longer work.
   * @example
   * const { recoveryCodes } = await identity.secondFactor.renewRecoveryCodes('123456')
   */
  renewRecoveryCodes(code: string, options?: CallOptions): Promise<RecoveryCodes> {
    return this.#calls.json('POST /api/users/me/recovery-codes', { json: { code } }, options)
  }

  /**
   * Proves that the user has kept the codes; does not use one up.
   * @example
   * await identity.secondFactor.checkRecoveryCode('abcd-efgh-ijkl')
   */
  checkRecoveryCode(recoveryCode: string, options?: CallOptions): Promise<void> {
    const call = { json: { recoveryCode } }
    return this.#calls.nothing('POST /api/users/me/recovery-codes/check', call, options)
  }
}
