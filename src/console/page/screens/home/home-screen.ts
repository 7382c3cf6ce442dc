/** The overview: the state of the bridge at a glance, and the live feed below it. */
import { type ComponentChildren, h } from 'preact'
import { GlancePanel } from '../../parts/glance/glance.ts'
import type { ScreenProps } from '../../shell/navigation.ts'
import { Feed } from '../feed/feed-screen.ts'

/** The screen. */
export function HomeScreen({ route }: ScreenProps): ComponentChildren {
  const text = route.query.get('filter')
  return [
    h('h1', { key: 'head', class: 'off-screen' }, 'Overview'),
    h(GlancePanel, { key: 'glance' }),
    h(Feed, { key: `feed ${text}`, text }),
  ]
}
