/** Defines what a mutant is: one wrong change of the source, the promise that it breaks, and the test that must notice. */

/** A change by hand that a named test must find. */
export interface Mutant {
  /** Unique, in kebab case. */
  readonly name: string
  /** The changed source file, from the root of the repository. */
  readonly file: string
  /** The text that is replaced. It occurs exactly once in the file. */
  readonly before: string
  readonly after: string
  /** The promise that the change breaks, in one sentence. */
  readonly breaks: string
  readonly killedBy: NamedTest
}

/** A test by its title. */
export interface NamedTest {
  /** The file that vitest runs. */
  readonly file: string
  /** The title as the source has it, with its placeholders (`%s`). */
  readonly title: string
  /** Where the title stands, if the file takes its tests from a suite that several files share. */
  readonly suite?: string
}
