export { EXPOSITION_TYPE, exposition, labelled, merged } from './exposition.ts'
export type { Family, Metrics } from './metrics.ts'
export { watchProcess } from './process.ts'
export { measureDisks } from './stores.ts'
