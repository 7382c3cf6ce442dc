/** Generates the random name of a log's epoch: one life of the log, in which sequences start at 1. */
import { randomInt } from 'node:crypto'

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/** 8 characters of A–Z, a–z, 0–9, never NO_EPOCH's all zeros in practice (one in 2 × 10¹⁴). */
export function newEpoch(): string {
  return Array.from({ length: 8 }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('')
}
