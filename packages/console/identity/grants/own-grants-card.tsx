import { Card } from '../../shared/components/page.tsx'
import { session } from '../session.ts'
import { GrantList } from './grant-list.tsx'
import { OWN_GRANTS, useGrants } from './grants.ts'

export function OwnGrantsCard() {
  const { grants, revoke } = useGrants(session.api, OWN_GRANTS)
  return (
    <Card title="Applications" about="What you have allowed applications that you sign in to.">
      <GrantList of={grants} revoke={revoke} caption="Applications with access" />
    </Card>
  )
}
