/** Lists the shortcuts of the present screen, and switches them off. */
import { type ComponentChildren, Fragment, h } from 'preact'
import { Dialog } from '../parts/dialog.ts'
import type { Shortcut } from './keys.ts'
import { useConsole } from './services.ts'
import { useStore } from './store.ts'

/** The dialog that `?` opens. */
export function HelpDialog({ onClose }: { onClose: () => void }): ComponentChildren {
  const { shortcuts, preferences } = useConsole()
  const isOn = useStore(shortcuts.isOn)
  return h(
    Dialog,
    { title: 'Shortcuts', onClose },
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        checked: isOn,
        onChange: () => {
          shortcuts.isOn.set(!isOn)
          preferences.hasShortcuts.set(!isOn)
        },
      }),
      ' Single keys do something',
    ),
    h(
      'div',
      { class: 'help-groups' },
      byGroup(shortcuts.all()).map(([group, own]) =>
        h(
          'section',
          { key: group },
          h('h3', null, group),
          h(
            'dl',
            { class: 'keys' },
            own.map(({ keys, does }) =>
              h(
                Fragment,
                { key: keys },
                h(
                  'dt',
                  null,
                  keys.split(' ').map((key) => [h('kbd', null, key), ' ']),
                ),
                h('dd', null, does),
              ),
            ),
          ),
        ),
      ),
    ),
  )
}

function byGroup(all: readonly Shortcut[]): [string, Shortcut[]][] {
  const groups = new Map<string, Shortcut[]>()
  for (const shortcut of all) groups.set(shortcut.group, [...(groups.get(shortcut.group) ?? []), shortcut])
  return [...groups]
}
