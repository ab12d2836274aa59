// Not TypeScript: the types of Uppy bring those of browsers into every file of the type check.
import Uppy from '@uppy/core'
import Tus from '@uppy/tus'

/** In Node tus-js-client reads buffers and streams, and Uppy holds files as blobs. */
const blobReader = {
  openFile: async (blob) => ({
    size: blob.size,
    slice: async (start, end) => {
      const bytes = Buffer.from(await blob.slice(start, end).arrayBuffer())
      return { value: Object.assign(bytes, { size: bytes.length }), done: end >= blob.size }
    },
    close() {},
  }),
}

const SILENT = { debug() {}, warn() {}, error() {} }

/** An Uppy that tells `onReply` the method and the status of each request. */
export function openUppy({ endpoint, token, chunkSize = Number.POSITIVE_INFINITY, onReply }) {
  return new Uppy({ logger: SILENT }).use(Tus, {
    endpoint,
    chunkSize,
    headers: { authorization: `Bearer ${token}` },
    fileReader: blobReader,
    onAfterResponse: (request, response) => onReply(request.getMethod(), response.getStatus()),
  })
}
