/** A part of an object that a bucket already has. */
export type StoredPart = { number: number; etag: string }

/** What a store needs to continue an object later, besides its offset. */
export type Progress = {
  /** The bucket's name for the object that is being put together, once it has a part. */
  multipartId: string | null
  /** The key of the bytes after the last whole part. */
  tail: string | null
}

/** An object that arrives in several requests, perhaps at several nodes. */
export type PartialObject = Progress & {
  /** Its key once it is complete. */
  key: string
  contentType: string
  /** When it is complete. */
  sizeBytes: number
  /** How many bytes have arrived for good. */
  offset: number
}

/** What was made durable, and up to where. It counts when the caller has recorded it. */
export type Kept = Progress & { offset: number; parts: StoredPart[] }

/** One turn at an object: bytes are written at its offset, and count when `keep` or `checkpoint` are recorded. */
export type Appending = AsyncDisposable & {
  /** Takes ownership of the bytes. Returns a promise when the caller must wait before writing more. */
  write(bytes: Buffer): Promise<void> | undefined
  /** Makes durable what costs little, and returns up to where. Writing may go on afterwards. */
  checkpoint(): Promise<Kept>
  /** Makes everything durable that was written. Nothing may be written afterwards. */
  keep(): Promise<Kept>
  /** Removes what a recorded `keep` or `checkpoint` has replaced. */
  tidy(): Promise<void>
  /** Bytes from the beginning of the object, as long as it is short. */
  readStart(length: number): Promise<Buffer>
}

/** How a provider keeps objects that are not complete. None of them is listed among its objects. */
export type PartialObjects = {
  append(object: PartialObject): Promise<Appending>
  /** Gives the object its key; `parts` are all that were recorded. May be repeated. */
  complete(object: PartialObject, parts: StoredPart[]): Promise<void>
  /** Removes all that was received of an object that will not be completed. */
  discard(key: string): Promise<void>
  /** The keys of objects of which something was received; one may come more than once. */
  list(prefix: string): AsyncIterable<string>
}
