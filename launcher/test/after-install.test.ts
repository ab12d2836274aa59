import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'

const STARTS = '[ "$1" = --version ] && exit'

describe('after npm ci', { skip: process.platform === 'win32' && 'needs a shell script' }, () => {
  test('the Node from the package is linked, which npm 10 fails to do, and runs the programs', (t) => {
    const { run, folder, node } = installed(t, `${STARTS}; echo "$1" >> ran`)

    const { status, stderr } = run()

    assert.equal(status, 0, stderr)
    assert.equal(realpathSync(join(folder, 'node_modules/.bin/node')), realpathSync(node))
    assert.equal(
      readFileSync(join(folder, 'ran'), 'utf8'),
      'packages/console/build.ts\nlauncher/install/compile-ahead.js\n',
    )
    assert.equal(run().status, 0, 'a second time, when the link exists')
  })

  test('the code is compiled ahead where only the checkout may be written', () => {
    const env = { ...process.env, TMPDIR: join(tmpdir(), 'not-there') }
    const program = join(import.meta.dirname, '../install/compile-ahead.js')

    const { status, stderr } = spawnSync(process.execPath, [program], { env, encoding: 'utf8' })

    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
  })

  test('a program that fails, fails the installation, and the next one does not run', (t) => {
    const { run, folder } = installed(t, `${STARTS}; echo "$1" >> ran; exit 7`)

    assert.equal(run().status, 7)
    assert.equal(readFileSync(join(folder, 'ran'), 'utf8'), 'packages/console/build.ts\n')
  })

  test('a Node that does not start is explained, with exit code 69', (t) => {
    const fault = 'node: error while loading shared libraries: libatomic.so.1: cannot open'
    const { run } = installed(t, `echo "${fault}" >&2; exit 127`)

    const { status, stderr } = run()

    assert.equal(status, 69)
    assert.ok(stderr.includes(fault))
    assert.match(stderr, /apt-get install libatomic1/)
  })

  test('without a package for this platform, the Node that npm found runs the programs', (t) => {
    const { run, folder, node } = installed(t, 'exit 7')
    rmSync(node)
    mkdirSync(join(folder, 'packages/console'), { recursive: true })
    for (const program of ['packages/console/build.ts', 'launcher/install/compile-ahead.js'])
      writeFileSync(join(folder, program), `console.log('ran ${program}')`)

    const { status, stdout } = run()

    assert.equal(status, 0)
    assert.equal(stdout, 'ran packages/console/build.ts\nran launcher/install/compile-ahead.js\n')
    assert.ok(!existsSync(join(folder, 'node_modules/.bin/node')))
  })
})

/** A folder with the program and a Node in the package of this platform, which runs the script instead. */
function installed(t: { after(work: () => void): void }, script: string) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-installed-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const bin = join(folder, `node_modules/node-${process.platform}-${process.arch}/bin`)
  const program = join(folder, 'launcher/install/after-install.js')
  mkdirSync(bin, { recursive: true })
  mkdirSync(join(folder, 'launcher/install'), { recursive: true })
  copyFileSync(join(import.meta.dirname, '../install/after-install.js'), program)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(bin, 'node'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const run = () => spawnSync(process.execPath, [program], { encoding: 'utf8' })
  return { folder, node: join(bin, 'node'), run }
}
