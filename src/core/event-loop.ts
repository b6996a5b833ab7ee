/** Calls back in the next round of the event loop. Node.js and most runtimes have it; browsers make it of a channel. */
export const inNextRound: (run: () => void) => void =
  typeof setImmediate === "function" ? (run) => void setImmediate(run) : byChannel();

/** Goes on in the next round of the event loop, so that others have their turn. */
export function nextRound(): Promise<void> {
  return new Promise((resolve) => inNextRound(resolve));
}

const alone: (() => void)[] = [];

/** Calls back in a round of the event loop in which nothing else that is called so runs: for work that takes milliseconds. */
export function inRoundOfItsOwn(run: () => void): void {
  if (alone.push(run) === 1) inNextRound(runFirst);
}

function runFirst(): void {
  const run = alone.shift();
  if (alone.length > 0) inNextRound(runFirst);
  run?.();
}

/** Messages of a channel are rounds of their own; a timer of a browser waits four milliseconds when there were a few. */
function byChannel(): (run: () => void) => void {
  let channel: InstanceType<typeof MessageChannel> | undefined;
  const waiting: (() => void)[] = [];
  return (run) => {
    // Made when it is needed: some runtimes allow nothing of the kind while modules are loaded.
    if (channel === undefined) {
      channel = new MessageChannel();
      // The types know Node's ports alone, which have the web's property as well.
      (channel.port1 as { onmessage?: () => void }).onmessage = () => waiting.shift()?.();
    }
    waiting.push(run);
    channel.port2.postMessage(undefined);
  };
}

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

/**
 * Calls every callback, whatever one of them throws: that is reported as a warning of the process, or where there is none as an
 * error of the page or worker, since whoever calls
 * has nothing to do with it and nobody else would hear of it.
 */
export function callAll<A extends readonly unknown[]>(callbacks: Iterable<(...args: A) => void>, ...args: A): void {
  for (const callback of callbacks) {
    try {
      callback(...args);
    } catch (error) {
      reportThrown(error);
    }
  }
}

/** Tells of an error that nobody else can be told of. */
function reportThrown(error: unknown): void {
  const told = error instanceof Error ? error : new Error("a callback threw what is no error");
  if (typeof process === "object" && typeof process.emitWarning === "function") process.emitWarning(told);
  else (globalThis as { reportError?: (error: unknown) => void }).reportError?.(told);
}
