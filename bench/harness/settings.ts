/** For a quick run: `BENCH_SECONDS=0.3 BENCH_MEGABYTES=16 npm run bench -- kit`. */
const setting = (name: string, byDefault: number) => Number(process.env[name] ?? byDefault)

/** How long each turn of a load lasts. */
export const SECONDS = setting('BENCH_SECONDS', 5)
/** Size of the large file. */
export const MEGABYTES = setting('BENCH_MEGABYTES', 1024)
/** Files in the folder that the key edition lists. */
export const FILES = setting('BENCH_FILES', 100_000)
/** Rows in the larger of two databases. */
export const ROWS = setting('BENCH_ROWS', 1_000_000)
/** Photos whose thumbnails are requested at the same time. */
export const PICTURES = setting('BENCH_PICTURES', 64)
