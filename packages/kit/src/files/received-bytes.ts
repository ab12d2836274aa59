/** Bytes that come one by one are joined before their wrapping fills the memory. */
const MOST_LOOSE = 1024

/** Received pieces in their order, until they are moved to where they are needed. */
export class ReceivedBytes {
  #pieces: Buffer[] = []
  /** So much of the first piece was moved before. */
  #moved = 0
  #loose = 0

  /** Takes the piece over: its memory may be gone afterwards. */
  push(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#loose += 1
    if (this.#loose === MOST_LOOSE) this.#joinLoose()
  }

  /** But for the first piece, which may be half moved. */
  #joinLoose(): void {
    const loose = this.#pieces.splice(Math.max(1, this.#pieces.length - MOST_LOOSE))
    this.#pieces.push(Buffer.concat(loose))
    for (const piece of loose) release(piece)
    this.#loose = 0
  }

  /** Fills the target with the next bytes; there must be as many. */
  moveInto(target: Buffer): void {
    let filled = 0
    while (filled < target.length) {
      const piece = this.#pieces[0] as Buffer
      const copied = piece.copy(target, filled, this.#moved)
      filled += copied
      this.#moved += copied
      if (this.#moved === piece.length) this.#dropFirst()
    }
  }

  #dropFirst(): void {
    const piece = this.#pieces.shift()
    this.#moved = 0
    this.#loose = Math.min(this.#loose, this.#pieces.length)
    if (piece) release(piece)
  }
}

/**
 * Gives the memory of received bytes back at once. V8 would let many megabytes of them pile up and
 * then go through the whole heap for them. A part of a larger buffer is left to it all the same.
 */
function release({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
