import { type Check, examinedOf, orFault } from './installation.ts'

/** What only the services themselves can check, such as their mail server or provider. */
const own: Check = async (installation) => {
  const findings = installation.prepared.flatMap((each) => {
    const examined = examinedOf(installation, each)
    return Object.entries(each.service.checks).map(([name, check]) =>
      orFault(name, () => check(examined), `${examined.name}: `),
    )
  })
  return (await Promise.all(findings)).flat()
}

export const ownChecks: Check[] = [own]
