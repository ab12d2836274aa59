/**
 * File calls on plain descriptors, for where files come by the thousand: they cost half of what a
 * `FileHandle` costs. Nobody closes a forgotten descriptor, and a number that was closed may at once
 * be another file: whoever opens one ends it, once, after its last use.
 */
import { close, fsync, open, read, write } from 'node:fs'
import { promisify } from 'node:util'

export const openDescriptor = promisify(open)
export const readDescriptor = promisify(read)
export const writeDescriptor = promisify(write)
export const syncDescriptor = promisify(fsync)
export const closeDescriptor = promisify(close)
