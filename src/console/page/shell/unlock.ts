/** Asks for the token again before the session may change anything. */
import { type ComponentChildren, h } from 'preact'
import { Dialog } from '../parts/dialog.ts'
import { TokenForm } from './login.ts'
import { useConsole } from './services.ts'

/** The dialog; `onClose` is called when it is done with, too. */
export function UnlockDialog({ onClose }: { onClose: () => void }): ComponentChildren {
  const { session } = useConsole()
  return h(
    Dialog,
    { title: 'Unlock changes', onClose },
    h(
      'p',
      null,
      'This session can only read. Enter the token again to make changes for 15 minutes; what the token may not do stays locked.',
    ),
    h(TokenForm, {
      submit: 'Unlock',
      send: async (token) => {
        const refused = await session.unlock(token)
        if (refused === null) onClose()
        return refused
      },
    }),
  )
}
