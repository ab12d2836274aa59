import type { IconName } from '../../shared/components/icon.tsx'

export const FOLDER: IconName = 'M3 6h7l2 2.5h9V19H3z'
