/** The part of CBOR that an attestation needs: integers, byte and text strings, arrays, maps. */
export function encodeCbor(value: unknown): Buffer {
  if (typeof value === 'number') {
    return value >= 0 ? head(0, value) : head(1, -1 - value)
  }
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (typeof value === 'string') {
    const text = Buffer.from(value)
    return Buffer.concat([head(3, text.length), text])
  }
  if (Array.isArray(value)) {
    return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)])
  }
  if (value instanceof Map) {
    const entries = [...value].flatMap(([key, entry]) => [encodeCbor(key), encodeCbor(entry)])
    return Buffer.concat([head(5, value.size), ...entries])
  }
  throw new TypeError(`No CBOR for ${typeof value}`)
}

function head(majorType: number, length: number): Buffer {
  const type = majorType << 5
  if (length < 24) return Buffer.from([type | length])
  if (length < 0x100) return Buffer.from([type | 24, length])
  return Buffer.from([type | 25, length >> 8, length & 0xff])
}
