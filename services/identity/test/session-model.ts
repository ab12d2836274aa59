/** The specification's table of session states as a model: plain data and one transition function. */
export type Model = {
  nowSeconds: number
  enabled: boolean
  password: string
  sessions: Session[]
  /** The session of every refresh token ever issued. */
  tokens: Record<string, number>
  /** Every access token ever issued. */
  access: Record<string, { session: number; expiresAt: number }>
}

/** `ended`: by anything other than a logout, so that its access tokens are rejected too. */
type Session = {
  current: string
  revoked: boolean
  ended: boolean
  beganAt: number
  expiresAt: number
}

export type Operation =
  | { kind: 'login'; password: string }
  | { kind: 'refresh'; token: string }
  | { kind: 'logout'; access: string; token: string }
  | { kind: 'changePassword'; access: string; current: string; next: string }
  | { kind: 'profile'; access: string }
  | { kind: 'endSession'; access: string; sessionOf: string }
  | { kind: 'administratorEnds'; sessionOf: string }
  | { kind: 'disable' }
  | { kind: 'enable' }

export type Answer = { status: number; accessToken?: string; refreshToken?: string }

const ACCESS_SECONDS = 900
const REFRESH_SECONDS = 1_209_600
const MAX_SECONDS = 90 * 86_400

export function newModel(password: string): Model {
  return { nowSeconds: 0, enabled: true, password, sessions: [], tokens: {}, access: {} }
}

export function passTime(model: Model, seconds: number): Model {
  return { ...structuredClone(model), nowSeconds: model.nowSeconds + seconds }
}

/** The state after the operation; `undefined` when the reply is not allowed. */
function apply(before: Model, operation: Operation, answer: Answer): Model | undefined {
  const model = structuredClone(before)
  return answer.status === perform(model, operation, answer) ? model : undefined
}

/** Changes the model and returns the status the service must answer with. */
function perform(model: Model, operation: Operation, answer: Answer): number {
  switch (operation.kind) {
    case 'login':
      if (!model.enabled || operation.password !== model.password) return 401
      return admit(model, model.sessions.length, answer)
    case 'refresh': {
      const index = model.tokens[operation.token] ?? -1
      if (!model.enabled || !isLive(model, index, operation.token)) return 401
      return admit(model, index, answer)
    }
    case 'logout':
      return asCaller(model, operation, () => logOut(model, operation.token))
    case 'changePassword':
      return asCaller(model, operation, () => changePassword(model, operation))
    case 'profile':
      return asCaller(model, operation, () => 200)
    case 'endSession':
      return asCaller(model, operation, () => endSession(model, operation.sessionOf))
    case 'administratorEnds':
      return endSession(model, operation.sessionOf)
    case 'disable':
      model.enabled = false
      end(model, () => true)
      return 200
    case 'enable':
      model.enabled = true
      return 200
  }
}

function asCaller(model: Model, { access }: { access: string }, work: () => number): number {
  return mayCall(model, access) ? work() : 401
}

function logOut(model: Model, token: string): number {
  const index = model.tokens[token] ?? -1
  const session = model.sessions[index]
  if (session && isLive(model, index, token)) session.revoked = true
  return 200
}

function endSession(model: Model, access: string): number {
  const index = model.access[access]?.session ?? -1
  const session = model.sessions[index]
  if (!session || session.revoked || model.nowSeconds >= session.expiresAt) return 404
  end(model, (n) => n === index)
  return 204
}

function changePassword(
  model: Model,
  { access, current, next }: Operation & { kind: 'changePassword' },
): number {
  if (current !== model.password) return 400
  model.password = next
  const kept = model.access[access]?.session
  end(model, (n) => n !== kept)
  return 204
}

function admit(model: Model, session: number, answer: Answer): number {
  const { accessToken = '', refreshToken = '' } = answer
  const beganAt = model.sessions[session]?.beganAt ?? model.nowSeconds
  const expiresAt = Math.min(model.nowSeconds + REFRESH_SECONDS, beganAt + MAX_SECONDS)
  const fresh = { current: refreshToken, revoked: false, ended: false }
  model.sessions[session] = { ...fresh, beganAt, expiresAt }
  model.tokens[refreshToken] = session
  model.access[accessToken] = { session, expiresAt: model.nowSeconds + ACCESS_SECONDS }
  return 200
}

function isLive(model: Model, index: number, token: string): boolean {
  const session = model.sessions[index]
  if (!session || session.revoked || session.current !== token) return false
  return model.nowSeconds < session.expiresAt
}

/** After a logout the access token stays valid until it expires; after any other end it does not. */
function mayCall(model: Model, access: string): boolean {
  const { session = -1, expiresAt = 0 } = model.access[access] ?? {}
  if (!model.enabled || model.nowSeconds >= expiresAt) return false
  return model.sessions[session]?.ended === false
}

function end(model: Model, chosen: (index: number) => boolean): void {
  for (const [index, session] of model.sessions.entries())
    if (chosen(index)) {
      session.revoked = true
      session.ended = true
    }
}

/**
 * The possible states after several concurrent operations: one for every order of them that explains
 * all replies. An empty list means that no order explains what the service did.
 */
export function applyAll(
  states: Model[],
  events: { operation: Operation; answer: Answer }[],
): Model[] {
  if (events.length === 0) return states
  const after = events.flatMap(({ operation, answer }, index) => {
    const reached = states.flatMap((state) => apply(state, operation, answer) ?? [])
    return reached.length === 0 ? [] : applyAll(reached, events.toSpliced(index, 1))
  })
  const different = new Map(after.map((state) => [JSON.stringify(state), state]))
  return [...different.values()]
}
