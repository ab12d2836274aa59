const WIDTH = 300
const HEIGHT = 90
/** A day, in steps of five minutes. */
const MAX_BARS = 288

type Bar = { at: number; value: number }

/** Bars over the last day, newest at the right, with both axes labelled; each bar says what it counts. */
export function Chart(props: {
  title: string
  /** The figure that the chart is about, with its unit. */
  figure: string
  bars: Bar[]
  everySeconds: number
  text(value: number): string
}) {
  const { title, figure, bars, everySeconds, text } = props
  const highest = Math.max(0, ...bars.map(({ value }) => value))
  const top = highest || 1
  const [first, last] = [bars[0], bars.at(-1)]
  const width = Math.max(WIDTH / MAX_BARS, Math.min(12, WIDTH / Math.max(bars.length, 1)))
  const left = WIDTH - bars.length * width
  const from = (at: number) => timeText(at - everySeconds * 1000)
  return (
    <figure class="chart">
      <figcaption>
        {title}
        <strong>{figure}</strong>
      </figcaption>
      <div class="plot-area">
        <span class="y small soft">
          <span>{highest > 0 && text(highest)}</span>
          <span>{text(0)}</span>
        </span>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}: ${figure}; highest in five minutes ${text(highest)}`}
        >
          {bars.map(({ at, value }, index) => {
            const height = (value / top) * (HEIGHT - 4)
            const x = left + index * width
            return (
              <g key={at}>
                <rect class="bar" x={x} y={HEIGHT - height} width={width * 0.85} height={height} />
                <rect class="hit" x={x} y={0} width={width} height={HEIGHT}>
                  <title>{`${from(at)}–${timeText(at)}: ${text(value)}`}</title>
                </rect>
              </g>
            )
          })}
        </svg>
        <span class="x small soft">
          <span>{first && from(first.at)}</span>
          <span>{last && timeText(last.at)}</span>
        </span>
      </div>
    </figure>
  )
}

const timeText = (at: number) =>
  new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
