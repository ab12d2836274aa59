const END_OF_HEAD = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n')

/** Finds the end of each reply in a stream of bytes and reports its status. */
export function createReplyReader(onReply: (status: number) => void): (chunk: Buffer) => void {
  let pending: Buffer = Buffer.alloc(0)
  let status = 0
  let bodyBytesLeft = 0
  let chunked = false

  const finish = () => {
    const ended = status
    status = 0
    onReply(ended)
  }
  const readHead = () => {
    const end = pending.indexOf(END_OF_HEAD)
    if (end < 0) return false
    const head = pending.toString('latin1', 0, end)
    status = Number(head.slice(9, 12))
    chunked = /\r\ntransfer-encoding: chunked/i.test(head)
    bodyBytesLeft = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    // Keep the CRLF before a chunked body: LAST_CHUNK starts with one, and an empty body is only a last chunk.
    pending = pending.subarray(chunked ? end + 2 : end + 4)
    return true
  }
  const readBody = () => {
    if (!chunked) {
      const taken = Math.min(bodyBytesLeft, pending.length)
      bodyBytesLeft -= taken
      pending = pending.subarray(taken)
      return bodyBytesLeft === 0
    }
    const end = pending.indexOf(LAST_CHUNK)
    pending = pending.subarray(end < 0 ? Math.max(0, pending.length - LAST_CHUNK.length) : end + 7)
    return end >= 0
  }
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    while (status === 0 ? readHead() : true) {
      if (!readBody()) return
      finish()
      if (pending.length === 0) return
    }
  }
}
