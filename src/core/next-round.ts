let waiting: (() => void)[] = [];

function run(): void {
  const round = waiting;
  waiting = [];
  for (const callback of round) callback();
}

/**
 * Calls back in the next round of the event loop, after everything that goes on now had its say. All callers of a
 * round share one timer, which is cheaper than one each.
 */
export function nextRound(callback: () => void): void {
  if (waiting.push(callback) === 1) setImmediate(run);
}
