/**
 * For a test that gives files away or mounts a disk. CI runs the others as an ordinary user, and these apart:
 * `npm run test:all -- --root`.
 */
export const asRoot = {
  tags: ['root'],
  skip: process.getuid?.() !== 0 && 'needs root: sudo npm run test:all -- --root',
}
