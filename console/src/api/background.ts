/**
 * The most requests to agents in the background that run at once. Browsers have six connections to a server over HTTP/1.1,
 * so agents that do not answer would otherwise stop the page.
 */
const MOST = 3;

const waiting = new Set<() => void>();
let running = 0;

/** Does work when its turn comes. @throws the reason of the signal if that comes first */
export async function inBackground<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  while (running >= MOST && !signal.aborted) await turn(signal);
  running += 1;
  try {
    signal.throwIfAborted();
    return await work();
  } finally {
    running -= 1;
    next();
  }
}

function next(): void {
  const [first] = waiting;
  first?.();
}

function turn(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      waiting.delete(end);
      signal.removeEventListener("abort", end);
      resolve();
    };
    waiting.add(end);
    signal.addEventListener("abort", end);
  });
}
