import type { StoredFile } from '@plinth/client'
import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { baseUrl } from '../../shared/api/base-url.ts'
import { CopyButton } from '../../shared/components/code.tsx'
import { Field } from '../../shared/components/form.tsx'
import { facts } from '../../shared/shell/facts.ts'

const VERSION_DIGITS = 16
const FORMATS = ['auto', 'jpeg', 'png', 'webp', 'avif']

/**
 * How the picture is drawn, and the address of that. `v` is of the content: a browser may keep what is there for good,
 * because the address of other content is another one.
 */
export function PictureChoice({ file, chosen }: { file: StoredFile; chosen: Signal<string> }) {
  const { sizes = [], presets = [] } = facts.value.pictures ?? {}
  const [size, format, quality, fit] = [
    useSignal(''),
    useSignal('auto'),
    useSignal('80'),
    useSignal('inside'),
  ]
  const preset = size.value.startsWith('preset ') ? size.value.slice(7) : undefined
  const path = pathOf(file, {
    ...(preset ? { preset } : { width: size.value }),
    ...(!preset && fit.value === 'cover' && { height: size.value, fit: 'cover' }),
    ...(!preset && format.value !== 'auto' && { format: format.value }),
    ...(!preset && quality.value !== '80' && { quality: quality.value }),
  })
  const shown = size.value === '' ? '' : path
  useEffect(() => {
    chosen.value = shown
  }, [shown])
  if (sizes.length + presets.length === 0) return null
  return (
    <div class="stack tight">
      <div class="columns picture-choice">
        <Field
          label="Size"
          name="picture-size"
          bind={size}
          options={[
            { value: '', label: 'Original' },
            ...presets.map((name) => ({ value: `preset ${name}`, label: `Preset ${name}` })),
            ...sizes.map((width) => ({ value: String(width), label: `${width} px wide` })),
          ]}
        />
        {size.value !== '' && !preset && (
          <>
            <Field
              label="Shape"
              name="picture-fit"
              bind={fit}
              options={[
                { value: 'inside', label: 'Whole' },
                { value: 'cover', label: 'Square' },
              ]}
            />
            <Field
              label="Format"
              name="picture-format"
              bind={format}
              options={FORMATS.map((value) => ({
                value,
                label: value === 'auto' ? 'Automatic' : value.toUpperCase(),
              }))}
            />
            <Field
              label="Quality"
              name="picture-quality"
              bind={quality}
              options={['50', '65', '80', '90'].map((value) => ({ value, label: value }))}
            />
          </>
        )}
      </div>
      {shown !== '' && (
        <p class="row">
          <code class="address">{shown}</code>
          <CopyButton text={() => baseUrl + shown} label="Copy the address" />
        </p>
      )}
    </div>
  )
}

function pathOf({ id, checksumSha256 }: StoredFile, parameters: Record<string, string>): string {
  const v = checksumSha256.slice(0, VERSION_DIGITS)
  return `/file/picture/${id}?${new URLSearchParams({ ...parameters, v })}`
}
