import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crashUpload } from './crash-matrix.ts'
import { engines } from './start-storage.ts'

// `npm run test:all` kills it at every step.
for (const engine of engines)
  test(
    `kill -9 between the bytes and the row of an upload: the file is not there, its bytes are swept, others stay, on ${engine.name}`,
    engine.options,
    async (t) => {
      const { swept, files } = await crashUpload(t, engine)

      assert.deepEqual([swept, files.length], [1, 1])
    },
  )
