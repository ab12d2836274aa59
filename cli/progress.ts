/** The progress of a command: a line that is redrawn on a terminal, elsewhere an occasional new line. */
export type Progress = {
  show(label: string, done: number, total?: number): void
  end(): void
}

const BAR = 24
const REDRAW_EVERY_MS = 100
const LINE_EVERY_MS = 10_000

export function createProgress(
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
  now: () => number = () => performance.now(),
): Progress {
  const every = stream.isTTY ? REDRAW_EVERY_MS : LINE_EVERY_MS
  // Without a terminal, a short command prints nothing.
  let last = stream.isTTY ? -Infinity : now()
  let drawn = false
  return {
    show(label, done, total) {
      if (now() - last < every) return
      last = now()
      drawn = true
      const text = lineOf(label, done, total)
      stream.write(stream.isTTY ? `\r\u001b[2K${text}` : `${text}\n`)
    },
    end() {
      if (drawn && stream.isTTY) stream.write('\r\u001b[2K')
      drawn = false
    },
  }
}

function lineOf(label: string, done: number, total?: number): string {
  if (total === undefined || total === 0) return `${label}: ${done}`
  const share = Math.min(1, done / total)
  const full = Math.round(share * BAR)
  const bar = '█'.repeat(full) + '░'.repeat(BAR - full)
  return `${label} ${bar} ${Math.floor(share * 100)} % (${done} of ${total})`
}
