import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { type Env, enterDataFolder, generatedKey } from '@plinth/kit/runtime'

type SandboxPlan = {
  dataFolder: string
  sandboxUrl: string
  paymentsUrl: string
  production: boolean
}

/**
 * Gives payments and the sandbox provider each other's address and keys, unless a provider is
 * configured. A blank setting counts as configured: it means that payments runs without a provider.
 */
export function withSandboxKeys(env: Env, plan: SandboxPlan): Env {
  const names = ['PROVIDER_SECRET_KEY', 'PROVIDER_WEBHOOK_SECRET', 'PROVIDER_API_BASE']
  if (names.some((name) => env[name] !== undefined || env[`${name}_FILE`] !== undefined)) return env
  const key = generatedKey(join(plan.dataFolder, 'sandbox.key'), () => enterDataFolder(plan))
  const derive = (purpose: string) => createHmac('sha256', key).update(purpose).digest('hex')
  const webhookSecret = `whsec_${derive('webhook secret').slice(0, 32)}`
  const secretKey = `sk_test_${derive('secret key').slice(0, 32)}`
  return {
    ...env,
    PROVIDER_SECRET_KEY: secretKey,
    PROVIDER_WEBHOOK_SECRET: webhookSecret,
    PROVIDER_API_BASE: plan.sandboxUrl,
    SANDBOX_WEBHOOK_URL: `${plan.paymentsUrl}/api/provider/webhook`,
    SANDBOX_WEBHOOK_SECRET: webhookSecret,
    // In development the sandbox accepts any key, for those who try it with a program of their own.
    ...(plan.production && { SANDBOX_SECRET_KEY: secretKey }),
    // In development ids are derived from a known seed, so that an example is the same everywhere.
    ...(plan.production && !hasSeed(env) && { SANDBOX_SEED: derive('seed') }),
  }
}

function hasSeed(env: Env): boolean {
  return env.SANDBOX_SEED !== undefined || env.SANDBOX_SEED_FILE !== undefined
}
