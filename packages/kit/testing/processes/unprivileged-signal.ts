// Preloaded into a service by `mayDropPrivileges`. Only privileges are dropped: what the service has
// opened and loaded by then stays, so it does not matter who may read the checkout.
process.once('SIGUSR2', () => {
  if (process.getuid?.() === 0) {
    process.setgroups?.([])
    process.setgid?.(65534)
    process.setuid?.(65534)
  }
  console.log('{"msg":"no longer the superuser"}')
})
