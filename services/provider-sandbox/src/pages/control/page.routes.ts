import { notFound, Problem, type Server, Type } from '@plinth/kit'
import type { Controls } from '../../controls/controls.ts'
import { describeDeliveries } from '../../controls/deliveries.ts'
import type { Form } from '../../protocol/form.ts'
import { sendPage } from '../layout.ts'
import { PAGE_ACTIONS } from './actions.ts'
import { overviewPage } from './overview.ts'
import { deliveryDetail } from './webhook-sections.ts'

const ActionParams = Type.Object({ action: Type.String() })

const ById = Type.Object({ id: Type.String() })

const LONGEST_FORM = 64 * 2 ** 20

/** The controls as a page: every button is a form, so that it needs no script. */
export function pageRoutes(server: Server, controls: Controls): void {
  server.get('/', (_request, reply) => reply.redirect('/sandbox', 302))
  server.get('/sandbox', async (_request, reply) => sendPage(reply, await overviewPage(controls)))

  server.get('/sandbox/deliveries/:id', {
    schema: { params: ById },
    handler: async ({ params }, reply) => {
      const deliveries = await describeDeliveries(controls.sandbox)
      const delivery = deliveries.find(({ id }) => String(id) === params.id)
      if (!delivery) throw notFound()
      const title = delivery.eventType ?? 'Delivery'
      return sendPage(reply, { title, main: deliveryDetail(delivery), wide: true })
    },
  })

  server.post('/sandbox/do/:action', {
    schema: { params: ActionParams },
    bodyLimit: LONGEST_FORM,
    handler: async ({ params, body }, reply) => {
      const action = Object.hasOwn(PAGE_ACTIONS, params.action) && PAGE_ACTIONS[params.action]
      if (!action) throw notFound()
      const form = (body ?? {}) as Form
      const field = (name: string) => (typeof form[name] === 'string' ? form[name].trim() : '')
      try {
        await action.run(controls, field)
      } catch (error) {
        if (!(error instanceof Problem) || error.status >= 500) throw error
        return sendPage(reply, await overviewPage(controls, describe(error)), error.status)
      }
      return reply.redirect(`/sandbox#${action.part}`, 303)
    },
  })
}

function describe({ message, extra }: Problem): string {
  return Array.isArray(extra.errors) ? extra.errors.join('; ') : message
}
