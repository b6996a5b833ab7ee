import { reportThrown } from "./call-all.js";
import { inNextRound } from "./rounds.js";

/** Something that has to go on in the next round of the event loop. */
export interface Deferred {
  run(): void;
  /** What becomes of it when `run` throws, which concerns nobody else of the round. Must not throw. */
  failed(error: unknown): void;
}

let waiting: Deferred[] = [];

function runAll(): void {
  const round = waiting;
  waiting = [];
  for (const each of round) {
    try {
      each.run();
    } catch (error) {
      fail(each, error);
    }
  }
}

function fail(one: Deferred, error: unknown): void {
  try {
    one.failed(error);
  } catch (second) {
    // Nobody is left who could say what is to be done; the others of the round go on all the same.
    reportThrown(second);
  }
}

/**
 * Calls `run` in the next round of the event loop, after everything that goes on now had its say. All of a round share
 * one timer, which is cheaper than one each; and they are objects, because a closure that outlives its call costs a
 * garbage collection more than all its fields do.
 */
export function defer(one: Deferred): void {
  if (waiting.push(one) === 1) inNextRound(runAll);
}
