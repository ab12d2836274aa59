import { startJob } from '@plinth/kit/database'
import type { Metrics } from '@plinth/kit/metrics'
import { HOUR_SECONDS } from '@plinth/kit/runtime'
import type { Storage } from '../files/storage.ts'
import type { PictureSettings } from '../picture-settings.ts'
import type { PacedLanes } from '../thumbnails/lanes.ts'
import { createRenditionCache } from './cache.ts'
import { forgetStale } from './kept-beside.ts'
import { createMaking } from './making.ts'
import { createPictures, type PictureResult, type Pictures } from './pictures.ts'
import { sumRenditions } from './renditions.repository.ts'

const RESULTS: PictureResult[] = ['made', 'kept', 'unchanged', 'none', 'busy', 'failed']
const UPKEEP_SECONDS = HOUR_SECONDS
const COUNT_EVERY_SECONDS = 60

type Options = { lanes: PacedLanes; settings: PictureSettings; metrics: Metrics }

/** Pictures with their metrics, and the job that looks after their cache. */
export function openPictures(
  storage: Storage,
  { lanes, settings, metrics }: Options,
): Pictures & { stop(): Promise<void> } {
  const { db, log } = storage
  const count = metrics.counter({
    name: 'plinth_pictures_total',
    help: 'Renditions requested: made, kept from before, unchanged for the client, or why there was none.',
    labels: ['result'],
    known: RESULTS.map((result) => ({ result })),
  })
  const countEvicted = metrics.counter({
    name: 'plinth_pictures_evicted_total',
    help: 'Renditions removed to make room for others.',
  })
  metrics.gauge(
    { name: 'plinth_picture_cache_bytes', help: 'Size of all kept renditions.' },
    () => sumRenditions(db),
    COUNT_EVERY_SECONDS,
  )
  const cache = createRenditionCache(storage, {
    cacheBytes: settings.cacheBytes,
    evicted: (renditions) => countEvicted({}, renditions),
  })
  const upkeep = startJob({
    ...{ db, log, metrics, name: 'storage-pictures', everySeconds: UPKEEP_SECONDS },
    run: async (signal) => {
      await forgetStale(storage, signal)
      await cache.shrink()
    },
  })
  const { sizes } = settings
  const make = createMaking(storage, { cache, lanes, sizes })
  const counted = (result: PictureResult) => count({ result })
  const pictures = createPictures(storage, { cache, make, sizes, count: counted })
  return { ...pictures, stop: upkeep.stop }
}
