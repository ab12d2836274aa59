import { hash } from 'node:crypto'
import { type Mutation, mutated } from './mutations.ts'

const FEW = 5
const MANY_FAULTS = 40

/**
 * Five of all faults, six of many: those with the lowest hash of the line they leave. So every run
 * makes the same ones, and a change elsewhere in the file chooses no others.
 */
export function sampleOf(source: string, mutations: Mutation[]): Mutation[] {
  const count = mutations.length > MANY_FAULTS ? FEW + 1 : FEW
  const rank = (mutation: Mutation) =>
    hash('sha256', `${mutation.what}\n${changedLines(source, mutation).after}`)
  return mutations
    .map((mutation) => ({ mutation, rank: rank(mutation) }))
    .toSorted((one, other) => (one.rank < other.rank ? -1 : Number(one.rank > other.rank)))
    .slice(0, count)
    .map(({ mutation }) => mutation)
    .toSorted((one, other) => one.start - other.start)
}

/** The lines that a fault changes, before and after, and the number of the first. */
export function changedLines(source: string, mutation: Mutation) {
  const number = source.slice(0, mutation.start).split('\n').length
  const removed = source.slice(mutation.start, mutation.end).split('\n').length
  const lines = (text: string, count: number) =>
    text
      .split('\n')
      .slice(number - 1, number - 1 + count)
      .map((line) => line.trim())
  return { number, before: lines(source, removed), after: lines(mutated(source, mutation), 1) }
}
