/** The live feed: announcements as they arrive, the newest first, by the filter of the address. */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Filter } from '../../../../../clients/typescript/src/messages.ts'
import { copyText } from '../../parts/copy.ts'
import { filterText, readFilterText } from '../../parts/filter/filter-values.ts'
import { later } from '../../parts/later.ts'
import { ProblemNote } from '../../parts/state.ts'
import type { ScreenProps } from '../../shell/navigation.ts'
import { hrefOf } from '../../shell/router.ts'
import { useConsole, useTitle } from '../../shell/services.ts'
import { createStore, useStore } from '../../shell/store.ts'
import { useShortcuts } from '../../shell/use-shortcuts.ts'
import { useAlerts } from './alerts.ts'
import { FeedAnnouncer, FeedBar } from './feed-bar.ts'
import { FeedChoice } from './feed-choice.ts'
import { feedShortcuts } from './feed-keys.ts'
import { FeedModel } from './feed-model.ts'
import { followStream } from './feed-stream.ts'
import { FeedTable } from './feed-table.ts'
import { FeedTools } from './feed-tools.ts'
import { QuickLook } from './quick-look.ts'

const FilterBuilder = later(async () => (await import('../../parts/filter/filter-builder.ts')).FilterBuilder)

/** The screen. */
export function FeedScreen({ route }: ScreenProps): ComponentChildren {
  const text = route.query.get('filter')
  return [
    h('h1', { key: 'head', class: 'off-screen' }, 'Live feed'),
    // Another filter is another feed: its rows begin anew.
    h(Feed, { key: `feed ${text}`, text }),
  ]
}

/** The feed of one filter, given as the text of the address. Also part of the overview. */
export function Feed({ text }: { text: string | null }): ComponentChildren {
  const read = readFilterText(text)
  return read === null ? h(UnreadableFilter, null) : h(ReadableFeed, { filter: read })
}

function UnreadableFilter(): ComponentChildren {
  const { router } = useConsole()
  useTitle('Feed')
  return h(
    'div',
    null,
    h(ProblemNote, { problem: { detail: 'The filter in this address is not the JSON of a filter.' } }),
    h('button', { type: 'button', onClick: () => router.setQuery({ filter: null }) }, 'Show everything'),
  )
}

function ReadableFeed({ filter }: { filter: Filter }): ComponentChildren {
  const { router } = useConsole()
  const { model, unseen } = useFeedModel(filter)
  const view = useStore(model.view)
  const choice = useMemo(() => new FeedChoice(), [])
  const { chosen, marked, reveal } = useStore(choice.view)
  const editing = useMemo(() => createStore(false), [])
  const isEditing = useStore(editing)
  const [said, setSaid] = useState('')
  const box = useRef<HTMLDivElement>(null)
  useTitle(`${unseen > 0 ? `(${unseen}) ` : ''}Feed`)
  useSelectionPause(box, model)
  const setFilter = (next: Filter): void => router.setQuery({ filter: filterText(next) || null })
  const openFilter = (): void => {
    editing.set(true)
    model.pause('filter')
  }
  const closeFilter = (): void => {
    editing.set(false)
    model.resume('filter')
  }
  const copied = async (what: string, value: string): Promise<void> =>
    setSaid((await copyText(value)) ? `The ${what} is copied.` : 'The browser refused to copy.')
  useShortcuts(
    feedShortcuts({
      choice,
      model,
      copy: (what, value) => void copied(what, value),
      open: (row) => router.go(hrefOf('item', row.id)),
      toggleFilter: () => (editing.get() ? closeFilter() : openFilter()),
      back: () => {
        if (editing.get()) closeFilter()
        else if (choice.view.get().chosen === null) model.resume()
        else choice.choose(null)
      },
    }),
  )
  return h(
    'div',
    { class: 'feed', ref: box },
    h(FeedTools, {
      filter,
      isOpen: isEditing,
      since: view.rows[0]?.cursor ?? null,
      onToggle: isEditing ? closeFilter : openFilter,
      onClear: () => setFilter({}),
    }),
    isEditing && h(FilterBuilder, { filter, onApply: setFilter, onClose: closeFilter }),
    h(FeedBar, { view, model }),
    h(FeedAnnouncer, { view }),
    h('p', { role: 'status', class: 'off-screen' }, said),
    h(
      'div',
      { class: chosen === null ? 'feed-body' : 'feed-body has-choice' },
      h(
        'div',
        { class: 'feed-rows', onPointerMove: () => model.hold(), onPointerDown: () => model.hold() },
        h(FeedTable, {
          rows: view.rows,
          chosenKey: chosen?.key ?? null,
          marked,
          reveal,
          topTurn: view.resumed,
          dropped: view.dropped,
          onChoose: (row) => choice.choose(row),
          onScroll: (isAtTop) => model.scrolled(isAtTop),
          empty:
            view.connection.state === 'live'
              ? 'Nothing matches yet. New announcements appear here by themselves.'
              : '',
        }),
      ),
      chosen !== null &&
        h(QuickLook, {
          row: chosen,
          filter,
          isMarked: marked.has(chosen.key),
          onMark: () => choice.toggleMark(),
          onFilter: setFilter,
          onClose: () => choice.choose(null),
        }),
    ),
  )
}

/** The feed of this filter as long as the component is there. */
function useFeedModel(filter: Filter): { model: FeedModel; unseen: number } {
  const { api, clock, visibility, status } = useConsole()
  const alerts = useAlerts()
  const latest = useRef(alerts)
  latest.current = alerts
  const model = useMemo(
    () =>
      new FeedModel({
        clock,
        visibility,
        status,
        filter,
        onNew: (row) => latest.current.note(row),
        follow: (options) => followStream({ api, ...options }),
        aheadMs: () => api.aheadMs(),
        staysWhenHidden: () => latest.current.isOn(),
        onFault: reportError,
      }),
    [],
  )
  useEffect(() => model.start(), [model])
  return { model, unseen: alerts.unseen }
}

/** Rows rest while text in them is selected. */
function useSelectionPause(box: { current: HTMLElement | null }, model: FeedModel): void {
  useEffect(() => {
    const onChange = (): void => {
      const selection = document.getSelection()
      const isInside =
        selection !== null && !selection.isCollapsed && box.current?.contains(selection.anchorNode) === true
      if (isInside) model.pause('selection')
      else model.resume('selection')
    }
    document.addEventListener('selectionchange', onChange)
    return () => document.removeEventListener('selectionchange', onChange)
  }, [model])
}
