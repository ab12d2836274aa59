/** What `plinth doctor` checks about the bucket that stores the files. */
import { createLogger } from '@plinth/kit/logging'
import {
  clockFindings,
  type Examined,
  type Finding,
  ok,
  skip,
  systemClock,
} from '@plinth/kit/runtime'
import type { StorageFullConfig } from '../config.ts'
import type { Storage } from '../files/storage.ts'
import { listLocations } from '../locations/locations.ts'
import { storageUnavailable } from '../locations/problems.ts'
import type { Location } from '../locations/providers/provider.ts'
import { leftoversAt } from '../uploads/expire.ts'
import type { OpenStorage } from './backup.ts'
import { examineBucket } from './verify.ts'

type Examination = NonNullable<Awaited<ReturnType<typeof examineBucket>>>
type BucketState = NonNullable<Examination['state']>

/** Only while the service is running: otherwise opening an older database would migrate it. */
export function bucketFindingsWith(open: OpenStorage) {
  return async ({ isRunning }: Examined, config: StorageFullConfig): Promise<Finding[]> => {
    if (!isRunning) return [skip('bucket', 'storage is not running')]
    const log = createLogger('storage-full', 'error')
    const { storage, database } = await open(config, { clock: systemClock, log })
    try {
      const examined = await examineBucket(storage)
      const found = examined
        ? findingsOf(examined)
        : [skip('bucket', 'files are stored in a folder')]
      return [...found, ...(await leftoverFindings(storage))]
    } finally {
      storage.providers.close()
      await database.close()
    }
  }
}

function findingsOf({ steps, state }: Examination): Finding[] {
  const failed = steps.find(({ passed }) => !passed)
  if (failed)
    return [
      {
        check: 'bucket',
        status: 'fail',
        seen: `the step "${failed.name}" failed: ${failed.cause}`,
        expected: 'an object that can be written, read and deleted',
        why: 'uploads and downloads answer 503',
        fix: failed.message,
      },
    ]
  return [
    ok('bucket', 'an object was written, listed, read in whole and in part, and deleted'),
    ...(state ? [...exposureFindings(state), ...versionFindings(state)] : []),
    ...(state?.date === undefined ? [] : clockFindings('the object store', Date.parse(state.date))),
  ]
}

/** Parts of uploads cost money for as long as they are there, and no listing of the objects shows them. */
async function leftoverFindings(storage: Storage): Promise<Finding[]> {
  const counts: number[] = []
  for (const location of await listLocations(storage.db)) {
    if (location.provider !== 'OBJECT') continue
    const count = await countLeftovers(storage, location)
    if (count === undefined) return [unlistable(location)]
    counts.push(count)
  }
  if (counts.length === 0) return []
  const leftovers = counts.reduce((sum, count) => sum + count, 0)
  if (leftovers === 0) return [ok('bucket', 'no parts are left of uploads that have ended')]
  return [
    {
      check: 'bucket',
      status: 'warn',
      seen: `parts are left of uploads that have ended: ${leftovers}`,
      expected: 'none: the hourly sweep removes them',
      why: 'they cost money, and no list of the objects shows them',
      fix: 'plinth files sweep',
    },
  ]
}

async function countLeftovers(storage: Storage, location: Location): Promise<number | undefined> {
  try {
    return (await Array.fromAsync(leftoversAt(storage, location))).length
  } catch (error) {
    if (storageUnavailable.is(error)) return undefined
    throw error
  }
}

function unlistable({ id }: Location): Finding {
  return {
    check: 'bucket',
    status: 'warn',
    seen: `the unfinished uploads of location ${id} cannot be listed`,
    expected: 'a list, even if it is empty',
    why: 'parts of uploads that have ended stay and cost money',
    fix: 'allow the access key s3:ListBucketMultipartUploads and s3:AbortMultipartUpload, or use a lifecycle rule that aborts them',
  }
}

function exposureFindings({ othersMay }: BucketState): Finding[] {
  if (othersMay.length === 0) return [ok('bucket', 'others can neither list nor read it')]
  return [
    {
      check: 'bucket',
      status: 'fail',
      seen: `without a key anyone can ${othersMay.join(' and ')} it`,
      expected: 'a bucket that only the access key can use',
      why: 'anyone can read files there, past the permissions that Plinth checks',
      fix: 'block public access to the bucket, and remove the policy or ACL that allows it',
    },
  ]
}

function versionFindings({ versions }: BucketState): Finding[] {
  if (versions !== 'kept') return [ok('bucket', `versions of deleted files: ${versions}`)]
  return [
    {
      check: 'bucket',
      status: 'warn',
      seen: 'the bucket keeps every version of a deleted file forever',
      expected: 'no versions, or a rule that deletes old ones after some days',
      why: 'what users delete stays readable to the owner of the bucket and keeps costing money',
      fix: 'a lifecycle rule with NoncurrentVersionExpiration, or versioning off',
    },
  ]
}
