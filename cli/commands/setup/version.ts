import { arch, platform } from 'node:os'
import { services } from '../../../launcher/services.ts'
import manifest from '../../../package.json' with { type: 'json' }
import type { Command } from '../../command.ts'

export const version: Command = {
  name: 'version',
  summary: 'prints the versions of Plinth, its services and Node',
  run: async () => {
    const each = Object.fromEntries(services.map((service) => [service.name, service.version]))
    const node = process.versions.node
    const { version } = manifest
    return {
      text: `plinth ${version} (Node ${node}, ${platform()} ${arch()})`,
      json: { version, node, platform: platform(), arch: arch(), services: each },
    }
  },
}
