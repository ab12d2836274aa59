// Permissions do not bind the superuser, so a test that takes them away runs the service as nobody.
process.setgroups?.([])
process.setgid?.(65534)
process.setuid?.(65534)
await import('../src/main.ts')
