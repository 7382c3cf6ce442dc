/** Runs as a worker process of the campaign: plays each world that breaks assumptions, and sends back the verdict. */
import { type BrokenCase, playBroken } from '../support/worlds/broken/broken-world.ts'
import { answerCases } from './workers.ts'

answerCases((one: BrokenCase) => playBroken(one))
