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
