/** The usual way to serve a folder with this framework, at its defaults. */
import fastifyStatic from '@fastify/static'
import { fastify } from 'fastify'

const server = fastify()
server.register(fastifyStatic, { root: process.env.STATIC_ROOT ?? '.' })
process.on('SIGTERM', () => process.exit(0))
await server.listen({ host: 'localhost', port: Number(process.env.STATIC_PORT) })
