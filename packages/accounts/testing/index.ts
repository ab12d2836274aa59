/** Settings that make hashing cheap, for the tests of every host. */
export function cheapHashing(prefix: string): Record<string, string> {
  return {
    [`${prefix}PASSWORD_MEMORY_KIB`]: '8',
    [`${prefix}PASSWORD_PASSES`]: '1',
    [`${prefix}PASSWORD_WORKERS`]: '1',
  }
}
