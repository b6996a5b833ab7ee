import type { Answered, Asked, Ready, Served, ServerQuestion, Usage } from "../protocol.js";

/** Tells the parent that this process is ready, then answers its questions, until the parent lets go. */
export function answerQuestions<Q>(answer: (question: Q) => unknown, ready: unknown): void {
  const say = (message: Answered | Ready): void => {
    // A parent that is gone needs no answer: this process is about to end as well.
    if (process.connected) process.send?.(message);
  };
  process.on("message", async ({ id, question }: Asked<Q>) => {
    try {
      say({ id, result: await answer(question) });
    } catch (error) {
      say({ id, error: error instanceof Error ? error.message : String(error) });
    }
  });
  process.once("disconnect", () => process.exit(0));
  if (!process.connected) process.exit(0);
  say({ ready });
}

/** What a server process does besides serving. `go` runs when the bench lets waiting agents go on. */
export function serve(served: Served, go: () => void = () => {}): void {
  answerQuestions((question: ServerQuestion) => {
    if (question.kind === "go") return go();
    if (question.collect) globalThis.gc?.();
    const cpu = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    return { cpuMicros: cpu.user + cpu.system, rss, heap: heapUsed } satisfies Usage;
  }, served);
}
