import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Api, Call, Reply } from '../api/api.ts'

type Content = { address?: string; content?: Blob; refusal?: Reply }

/**
 * The bytes at a path as an object URL, for elements that cannot send a credential. When the component
 * unmounts, the download ends or the bytes are released. Without a path nothing is loaded.
 */
export function useContent(
  api: Api<unknown>,
  path: string | undefined,
  rest: Partial<Call> = {},
): Content {
  const content = useSignal<Content>({})
  useEffect(() => {
    if (path === undefined) return
    const unmounted = new AbortController()
    const { signal } = unmounted
    api.send({ method: 'GET', path, ...rest, signal }).then((reply) => {
      if (signal.aborted) return
      content.value = reply.ok
        ? { address: URL.createObjectURL(reply.content), content: reply.content }
        : { refusal: reply }
    })
    return () => {
      unmounted.abort()
      URL.revokeObjectURL(content.peek().address ?? '')
    }
  }, [api, path, content])
  return content.value
}
