import { arch, platform } from 'node:os'
import { VERSION } from '@plinth/kit'
import { services } from '../../../launcher/services.ts'
import type { Command } from '../../command.ts'

export const version: Command = {
  name: 'version',
  summary: 'prints the versions of Plinth, its services and Node',
  run: async () => {
    const each = Object.fromEntries(services.map((service) => [service.name, service.version]))
    const node = process.versions.node
    return {
      text: `plinth ${VERSION} (Node ${node}, ${platform()} ${arch()})`,
      json: { version: VERSION, node, platform: platform(), arch: arch(), services: each },
    }
  },
}
