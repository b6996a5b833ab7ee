/** Something that has to go on in the next round of the event loop. */
export interface NextRound {
  run(): void;
}

let waiting: NextRound[] = [];

function runAll(): void {
  const round = waiting;
  waiting = [];
  for (const each of round) each.run();
}

/**
 * Calls `run` in the next round of the event loop, after everything that goes on now had its say. All of a round share
 * one timer, which is cheaper than one each; and they are objects, because a closure that outlives its call costs a
 * garbage collection more than all its fields do.
 */
export function nextRound(one: NextRound): void {
  if (waiting.push(one) === 1) setImmediate(runAll);
}
