/** How often to try a property: `full` times in `npm run test:all`, a tenth of that in `npm test` and `npm run check`. */
export function propertyRuns(full = 100, divisor = process.env.PROPERTY_RUNS_DIVISOR): number {
  return Math.max(1, Math.ceil(full / Number(divisor ?? 1)))
}
