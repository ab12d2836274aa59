/** A value that is usually at hand: waiting for it would cost more than getting it. */
export type Awaitable<T> = T | Promise<T>

/** Goes on at once when the value is there, and otherwise when it comes. */
export function whenThere<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>) {
  return value instanceof Promise ? value.then(next) : next(value)
}
