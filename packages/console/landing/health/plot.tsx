import type { Line } from './history.ts'

const WIDTH = 300
const HEIGHT = 60
/** One hour, in steps of ten seconds. */
const MAX_POINTS = 360

type Series = { name: string; line: Line; tone?: 'soft' | 'bad' }

/**
 * A small plot of the last hour, newest at the right. The text beside it says the same as the drawing:
 * the current value of each line and the highest.
 */
export function Plot(props: {
  title: string
  series: Series[]
  text(value: number): string
  /** The top of the scale if it is known, as for a disk. */
  top?: number
}) {
  const { title, series, text } = props
  const highest = Math.max(...series.flatMap(({ line }) => line.map((value) => value ?? 0)), 0)
  const top = props.top ?? (highest || 1)
  const words = series.map(({ name, line }) => `${name} ${valueText(line.at(-1), text)}`)
  const peak = `highest ${text(highest)}`
  return (
    <figure class="plot">
      <figcaption>
        <strong>{title}</strong>
        <span class="values">
          {series.map(({ name, line, tone }) => (
            <span key={name} class={`value ${line.at(-1) ? (tone ?? '') : 'soft'}`}>
              {series.length > 1 && <small>{name} </small>}
              {valueText(line.at(-1), text)}
            </span>
          ))}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}, last hour: ${words.join(', ')}, ${peak}`}
      >
        <path class="ground" d={`M0 ${HEIGHT - 1}H${WIDTH}`} />
        {series.map(({ name, line, tone }) => (
          <path key={name} class={`line ${tone ?? ''}`} d={pathOf(line, top)} />
        ))}
      </svg>
      <small class="soft">{props.top === undefined ? peak : `of ${text(top)}`}</small>
    </figure>
  )
}

function valueText(value: number | null | undefined, text: (value: number) => string): string {
  return value === null || value === undefined ? '–' : text(value)
}

/** Leaves a gap where there is no value; a single value is a short dash. */
function pathOf(line: Line, top: number): string {
  const step = WIDTH / (MAX_POINTS - 1)
  const left = WIDTH - (line.length - 1) * step
  let path = ''
  for (const [index, value] of line.entries()) {
    if (value === null) continue
    const x = (left + index * step).toFixed(1)
    const y = (HEIGHT - 2 - (value / top) * (HEIGHT - 6)).toFixed(1)
    const begins = index === 0 || line[index - 1] === null
    path += begins ? `M${x} ${y}h-2l2 0` : `L${x} ${y}`
  }
  return path
}
