import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { usageOf } from '../command.ts'
import { commands } from '../commands/index.ts'
import { createProgress } from '../progress.ts'
import { nearest } from '../suggestion.ts'
import { plinth, plinthHere, temporaryFolder } from './run-plinth.ts'

/** A module that prints every file loaded from an installed package to stderr. */
const PRINT_PACKAGES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    load: (url, context, next) => {
      if (url.includes('/node_modules/')) console.error(url)
      return next(url, context)
    },
  })
`)}`

describe('plinth', () => {
  test('without arguments, and with --help, lists every command on stdout', async () => {
    const [bare, asked] = await Promise.all([plinth([]), plinth(['--help'])])

    assert.deepEqual([bare.code, bare.stdout], [0, asked.stdout])
    for (const { name } of commands) assert.match(asked.stdout, new RegExp(`^  ${name} `, 'm'))
  })

  test('a misspelt word gets a suggestion on stderr and exits 64', async () => {
    const [word, verb, option] = await Promise.all([
      plinth(['helath']),
      plinth(['user', 'craete']),
      plinth(['user', 'list', '--jsno']),
    ])
    const foreign = await plinthHere(['user', 'add'])

    assert.deepEqual([word.code, verb.code, option.code], [64, 64, 64])
    assert.deepEqual([word.stdout, verb.stdout, option.stdout], ['', '', ''])
    assert.match(word.stderr, /no command "plinth helath"\. Did you mean "plinth health"\?/)
    assert.match(verb.stderr, /Did you mean "plinth user create"\?/)
    assert.match(option.stderr, /no option --jsno\. Did you mean --json\?/)
    assert.match(foreign.stderr, /no command "plinth user add"\. Expected one of list, create, /)
  })

  test('--version and -v print the version, and an unknown option exits 64', async () => {
    const version = await plinthHere(['version'])

    for (const words of [['--version'], ['-v']]) assert.deepEqual(await plinthHere(words), version)
    for (const words of [['--nonsense'], ['-x']]) {
      const { code, stdout, stderr } = await plinthHere(words)
      assert.deepEqual([code, stdout], [64, ''])
      assert.match(stderr, new RegExp(`^There is no option ${words[0]}\\. `))
    }
  })

  test('--data wins over SUITE_DATA_FILE', async (t) => {
    const cwd = temporaryFolder(t)
    await writeFile(join(cwd, 'place'), join(cwd, 'other'))
    const env = { SUITE_DATA_FILE: join(cwd, 'place') }
    const words = ['user', 'create', 'ada', 'ada@localhost', '--data', join(cwd, 'chosen')]

    const { code } = await plinth([...words, '--password-file', '-'], {
      cwd,
      env,
      input: 'a long passphrase\n',
    })

    assert.equal(code, 0)
    assert.deepEqual((await readdir(cwd)).sort(), ['chosen', 'place'])
  })

  test('keys create names the scopes when none is given', async (t) => {
    const words = ['keys', 'create', 'shop', '--service', 'payments']

    const { code, stderr } = await plinthHere(words, { cwd: temporaryFolder(t) })

    assert.equal(code, 64)
    assert.match(stderr, /--scope once or more: payments:read, payments:write, /)
  })

  test('keys create, keys rotate, user create and clients create print only the secret, so that a script can keep it', async (t) => {
    const cwd = temporaryFolder(t)
    const create = ['keys', 'create', 'shop', '--service', 'payments', '--scope', 'payments:read']
    const rotate = ['keys', 'rotate', '1', '--service', 'payments']

    const key = await plinthHere(create, { cwd })
    const next = await plinthHere(rotate, { cwd })
    const user = await plinthHere(['user', 'create', 'ada', 'ada@localhost'], { cwd })
    const address = ['--redirect-uri', 'https://wiki.example/callback']
    const wiki = await plinthHere(['clients', 'create', 'Wiki', ...address], { cwd })

    for (const { stdout } of [key, next]) assert.match(stdout, /^plk_test_\w+\n$/)
    assert.match(key.stderr, /^Key 1, shop: payments:read\. It will not be shown again\.$/m)
    assert.match(user.stdout, /^\S{12,}\n$/)
    assert.match(wiki.stdout, /^[\w-]{43}\n$/)
    assert.match(wiki.stderr, /^Client \S{22}, Wiki\. Its secret will not be shown again\.$/m)
    assert.match(user.stderr, /^Created ada \(ROLE_USER\)\. This is the first password\.$/m)
  })

  test('clients are created, listed, rotated, disabled and deleted', async (t) => {
    const cwd = temporaryFolder(t)
    const run = (...words: string[]) => plinthHere(['clients', ...words], { cwd })
    const address = ['--redirect-uri', 'https://wiki.example/callback']

    const wiki = await run('create', 'Wiki', ...address, '--json')
    const tool = await run('create', 'Tool', '--redirect-uri', 'http://127.0.0.1/', '--public')
    const { clientId, clientSecret } = JSON.parse(wiki.stdout)
    const rotated = await run('rotate', clientId, '--overlap', '60')
    const wrong = await run('create', 'Wiki', '--redirect-uri', 'http://wiki.example/')
    const disabled = await run('disable', clientId)
    const listed = await run('list', '--json')
    const deleted = await run('delete', tool.stdout.trim())

    assert.match(clientSecret, /^[\w-]{43}$/)
    assert.match(tool.stdout, /^[\w-]{22}\n$/)
    assert.match(rotated.stdout, /^[\w-]{43}\n$/)
    assert.equal(wrong.code, 64)
    assert.match(wrong.stderr, /redirectUris: must start with https/)
    const states = JSON.parse(listed.stdout).map((one: { name: string; enabled: boolean }) => [
      one.name,
      one.enabled,
    ])
    assert.deepEqual(states.sort(), [
      ['Tool', true],
      ['Wiki', false],
    ])
    assert.deepEqual([disabled.code, deleted.code], [0, 0])
  })

  test('version --json is one JSON value with the version of each service', async () => {
    const { code, stdout } = await plinth(['--json', 'version'])

    assert.equal(code, 0)
    const { version, node, services } = JSON.parse(stdout)
    assert.match(`${version} ${node}`, /^\d+\.\d+\.\d+ \d+\.\d+\.\d+$/)
    assert.ok(services.identity && services.payments)
  })

  test('loads no packages for help or wrong arguments', async () => {
    const env = { NODE_OPTIONS: `--import=${PRINT_PACKAGES}` }

    const listed = await plinth(['--help'], { env })
    const wrong = await plinth(['keys', 'list'], { env })

    assert.deepEqual([listed.code, listed.stderr], [0, ''])
    assert.deepEqual([wrong.code, wrong.stderr.split('\n').length], [64, 2])
  })

  test('a password read from stdin is not shown', async (t) => {
    const cwd = temporaryFolder(t)
    const words = ['user', 'create', 'ada', 'ada@localhost', '--password-file', '-', '--json']

    const made = await plinth(words, { cwd, input: 'a long passphrase\n' })
    const listed = await plinth(['user', 'list', '--json'], { cwd })

    assert.equal(made.code, 0, made.stderr)
    assert.equal(JSON.parse(made.stdout).password, undefined)
    assert.deepEqual(
      JSON.parse(listed.stdout).map(({ username }: { username: string }) => username),
      ['ada'],
    )
  })

  test('a file that cannot be read exits 66', async (t) => {
    const cwd = temporaryFolder(t)
    const words = ['user', 'create', 'ada', 'ada@localhost', '--password-file', 'none']

    const missing = await plinth(['user', 'list', '--settings', '/nowhere/.env'])
    const folder = await plinthHere(['user', 'list', '--settings', cwd])
    const password = await plinthHere(words, { cwd })

    assert.deepEqual([missing.code, folder.code, password.code], [66, 66, 66])
    assert.match(missing.stderr, /^--settings \/nowhere\/\.env cannot be read: ENOENT\.$/m)
    assert.match(folder.stderr, /^--settings \S+ cannot be read: EISDIR\.$/m)
    assert.match(password.stderr, /^--password-file none cannot be read: there is no such file\.$/m)
  })

  for (const shell of ['bash', 'zsh', 'fish'])
    test(`completion ${shell} knows every command and is a valid script`, async (t) => {
      const { code, stdout } = await plinth(['completion', shell])

      assert.equal(code, 0)
      for (const word of commands.flatMap(({ name }) => name.split(' ')))
        assert.ok(stdout.includes(word), word)
      const checked = spawnSync(shell, ['-n'], { input: stdout, encoding: 'utf8' })
      if (checked.error) return t.diagnostic(`${shell} is not installed: its syntax is not checked`)
      assert.equal(checked.status, 0, checked.stderr)
    })

  test('completes commands, verbs and options in bash', async () => {
    const { stdout } = await plinth(['completion', 'bash'])
    const complete = (...words: string[]) => {
      const line = `COMP_WORDS=(plinth ${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length}
_plinth; printf '%s ' "\${COMPREPLY[@]}"`
      const { stdout: reply } = spawnSync('bash', ['-c', `${stdout}\n${line}`], {
        encoding: 'utf8',
      })
      return reply.trim().split(' ')
    }

    assert.deepEqual(complete('hea'), ['health'])
    assert.deepEqual(complete('user', 'cre'), ['create'])
    assert.ok(complete('user', 'create', '--').includes('--admin'))
    assert.ok(complete('user', 'create', 'ada', '--').includes('--admin'))
    assert.ok(complete('health', '--').includes('--wait'))
  })

  test('no two commands share a name, and no option hides a global one', () => {
    const names = commands.map(({ name }) => name)

    assert.equal(new Set(names).size, names.length)
    for (const command of commands) assert.doesNotMatch(usageOf(command), /--(json|help|data)\b/)
  })
})

describe('progress', () => {
  const drawn = (isTTY: boolean) => {
    const lines: string[] = []
    let now = 0
    const write = (text: string) => lines.push(text) > 0
    const progress = createProgress({ isTTY, write }, () => now)
    return { lines, progress, at: (ms: number) => (now = ms) }
  }

  test('is one line with a bar on a terminal, cleared at the end', () => {
    const { lines, progress, at } = drawn(true)

    progress.show('files', 1, 4)
    progress.show('files', 2, 4)
    at(100)
    progress.show('files', 3, 4)
    progress.end()

    assert.equal(lines.length, 3)
    assert.equal(lines[0], '\r\u001b[2Kfiles ██████░░░░░░░░░░░░░░░░░░ 25 % (1 of 4)')
    assert.match(lines[1] ?? '', /75 %/)
    assert.equal(lines[2], '\r\u001b[2K')
  })

  test('is a line every ten seconds elsewhere, and none for a short command', () => {
    const { lines, progress, at } = drawn(false)

    progress.show('files', 1, 4)
    at(10_000)
    progress.show('files', 2, 4)
    progress.end()

    assert.deepEqual(lines, ['files ████████████░░░░░░░░░░░░ 50 % (2 of 4)\n'])
  })
})

test('the nearest word is at most two edits away and not a different word', () => {
  const known = ['start', 'health', 'user', 'doctor', 'move']

  assert.deepEqual(
    ['strat', 'Health', 'usr', 'docter', 'mvoe', 'payments', 'x'].map((word) =>
      nearest(word, known),
    ),
    ['start', 'health', 'user', 'doctor', 'move', undefined, undefined],
  )
})
