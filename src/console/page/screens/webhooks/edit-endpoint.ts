/**
 * Changes an endpoint in a form. A change counts only for the endpoint as the form has read it: where somebody else changed it
 * meanwhile, the form shows both changes and asks again.
 */
import { type ComponentChildren, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { list } from '../../parts/elapsed.ts'
import type { Changes } from '../../parts/forms/changes.ts'
import type { EndpointAnswer } from '../../parts/managing-answers.ts'
import { ProblemNote } from '../../parts/state.ts'
import type { ApiProblem } from '../../shell/api.ts'
import { useConsole } from '../../shell/services.ts'
import { changeOf, draftOf, type EndpointDraft, rebasedDraft } from './endpoint-draft.ts'
import { EndpointForm } from './endpoint-form.ts'

const CHANGED_MEANWHILE = 412
const names: Readonly<Record<string, string>> = {
  url: 'the URL',
  description: 'the description',
  filter: 'the filter',
  headers: 'the headers',
  maxConcurrency: 'the deliveries at a time',
  rateLimit: 'the deliveries a second',
  maxBatch: 'the events of one request',
  order: 'the order',
}

/** The endpoint that a form began with. */
interface Original {
  endpoint: EndpointAnswer
  etag: string | undefined
}

/** The form. */
export function EditEndpoint({
  id,
  changes,
  reload,
  onDone,
}: {
  id: string
  changes: Changes
  reload: () => void
  onDone: () => void
}): ComponentChildren {
  const { api } = useConsole()
  const [original, setOriginal] = useState<Original | null>(null)
  const [draft, setDraft] = useState<EndpointDraft | null>(null)
  const [problem, setProblem] = useState<ApiProblem | null>(null)
  const [meanwhile, setMeanwhile] = useState<string | null>(null)
  const [isSending, setSending] = useState(false)
  const read = async (): Promise<Original | null> => {
    const result = await api.ask('GET /v1/webhooks/{id}', { with: { id } })
    if (!result.ok) {
      setProblem(result.problem)
      return null
    }
    return { endpoint: result.value, etag: result.etag }
  }
  useEffect(() => {
    void read().then((found) => {
      setOriginal(found)
      if (found !== null) setDraft(draftOf(found.endpoint))
    })
  }, [])
  if (original === null || draft === null)
    return problem === null ? h('p', { 'aria-busy': 'true' }, 'Reading …') : h(ProblemNote, { problem })
  const rebase = async (): Promise<void> => {
    const present = await read()
    if (present === null) return
    const { draft: next, both } = rebasedDraft(draft, original.endpoint, present.endpoint)
    setOriginal(present)
    setDraft(next)
    setMeanwhile(meanwhileWords(both))
  }
  const save = async (): Promise<void> => {
    const body = changeOf(draft, original.endpoint)
    if (Object.keys(body).length === 0) return onDone()
    setSending(true)
    const headers = original.etag === undefined ? {} : { 'if-match': original.etag }
    const result = await api.ask('PATCH /v1/webhooks/{id}', { with: { id }, headers, body })
    if (!result.ok && result.problem.status === CHANGED_MEANWHILE) await rebase()
    else if (!result.ok) setProblem(result.problem)
    setSending(false)
    if (!result.ok) return
    reload()
    onDone()
  }
  return [
    meanwhile !== null && h(ProblemNote, { key: 'meanwhile', problem: { detail: meanwhile } }),
    h(EndpointForm, {
      key: 'form',
      draft,
      onDraft: (next) => {
        setDraft(next)
        setProblem(null)
      },
      problem,
      submit: 'Save',
      isSending,
      onSubmit: () => changes.attempt(() => void save()),
      onCancel: onDone,
    }),
  ]
}

function meanwhileWords(both: readonly string[]): string {
  const theirs = 'Somebody else changed this webhook while you did: nothing is saved yet. '
  return both.length === 0
    ? `${theirs}The form now has their changes and yours. Look at it and save again.`
    : `${theirs}You both changed ${list(both.map((name) => names[name] ?? name))}; the form has yours. Save again to keep it.`
}
