import { inSandbox } from './sandbox.ts'

export function SandboxMark() {
  if (!inSandbox.value) return null
  return <strong class="sandbox-mark">SANDBOX</strong>
}
