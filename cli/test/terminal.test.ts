import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { forTerminal } from '../terminal.ts'
import { temporaryFolder } from './run-plinth.ts'

const MAIN = join(import.meta.dirname, '../main.js')

describe('on a terminal', () => {
  test('a table has aligned columns, and other lines stay as they are', () => {
    const text = 'id\tname\tstate\n1\tshop\tuntil May\n100\ta\trevoked\n\nDone.'

    assert.equal(
      forTerminal(text, { colour: false }),
      'id   name  state\n1    shop  until May\n100  a     revoked\n\nDone.',
    )
  })

  test('signs are coloured, and without colour nothing is', () => {
    const text = '✔ node: Node 26\n    fix: none\n!important'

    assert.equal(
      forTerminal(text, { colour: true }),
      '\u001b[32m✔\u001b[39m node: Node 26\n    fix: none\n!important',
    )
    assert.equal(forTerminal(text, { colour: false }), text)
  })

  // `script` runs a program on a terminal of its own; on other systems it takes other arguments.
  test('a refusal is red there, not with NO_COLOR, and not in a pipe', {
    skip: process.platform !== 'linux' && 'needs the script command of Linux',
  }, (t) => {
    const cwd = temporaryFolder(t)
    const env = { PATH: process.env.PATH, SUITE_PORT: 'x', TERM: 'xterm' }
    const words = [process.execPath, MAIN, 'start']
    const onTerminal = (more = {}) =>
      spawnSync('script', ['-qec', words.join(' '), '/dev/null'], {
        cwd,
        env: { ...env, ...more },
        encoding: 'utf8',
      }).stdout
    const piped = spawnSync(process.execPath, [MAIN, 'start'], { cwd, env, encoding: 'utf8' })

    const red = '\u001b[31m✖'
    assert.ok(onTerminal().includes(red))
    assert.ok(!onTerminal({ NO_COLOR: '1' }).includes('\u001b[31m'))
    assert.ok(piped.stderr.startsWith('✖ '))
  })
})
