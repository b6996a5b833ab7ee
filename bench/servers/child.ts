import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import type { Answered, Asked, Ready, Served, ServerQuestion, Stopped, Usage } from "../protocol.js";
import { beginProfile, endProfile } from "./profiler.js";

/** Memory has settled when it changed by less than this share in so many looks, so many milliseconds apart. */
const SETTLED_SHARE = 0.005;
const SETTLED_LOOKS = 3;
const LOOK_MS = 150;
const MOST_LOOKS = 25;

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

/** Linux counts the time of each thread, in nanoseconds. */
function mainThreadMicros(): number {
  try {
    return Number.parseInt(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1"), 10) / 1_000;
  } catch {
    return 0;
  }
}

function usage(): Usage {
  const cpu = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { cpuMicros: cpu.user + cpu.system, mainMicros: mainThreadMicros(), rss, heap: heapUsed, external };
}

/**
 * Collects garbage until it makes no difference any more: pages go back to the system some time after what was in them.
 * The heap of another thread is its own business.
 */
async function settledUsage(): Promise<Usage> {
  let last = Number.POSITIVE_INFINITY;
  for (let look = 0, steady = 0; look < MOST_LOOKS && steady < SETTLED_LOOKS; look++) {
    globalThis.gc?.();
    await setTimeout(LOOK_MS);
    const { rss } = process.memoryUsage();
    steady = Math.abs(rss - last) < last * SETTLED_SHARE ? steady + 1 : 0;
    last = rss;
  }
  return usage();
}

/** How often the event loop is looked at, in milliseconds. */
const PROBE_MS = 2;

/** The longest time between two looks, beyond what was asked for, and the most that the thread used of one. */
class Stops {
  #timer: NodeJS.Timeout | undefined;
  #last = 0;
  #lastCpu = 0;
  #longest = 0;
  #mostCpu = 0;

  begin(): void {
    clearInterval(this.#timer);
    this.#longest = 0;
    this.#mostCpu = 0;
    this.#last = performance.now();
    this.#lastCpu = mainThreadMicros();
    this.#timer = setInterval(() => this.#look(), PROBE_MS);
  }

  end(): Stopped {
    this.#look();
    clearInterval(this.#timer);
    return { longest: this.#longest, mostCpu: this.#mostCpu };
  }

  #look(): void {
    const now = performance.now();
    const cpu = mainThreadMicros();
    this.#longest = Math.max(this.#longest, now - this.#last - PROBE_MS);
    this.#mostCpu = Math.max(this.#mostCpu, (cpu - this.#lastCpu) / 1_000);
    this.#last = now;
    this.#lastCpu = cpu;
  }
}

const stops = new Stops();

/** What a server process does besides serving. `go` runs when the bench lets waiting agents go on. */
export function serve(served: Served, go: () => void = () => {}): void {
  answerQuestions((question: ServerQuestion) => {
    switch (question.kind) {
      case "go":
        return go();
      case "stops":
        return question.phase === "begin" ? stops.begin() : stops.end();
      case "profile":
        return question.phase === "begin" ? beginProfile() : endProfile();
      case "usage":
        return question.settle ? settledUsage() : usage();
    }
  }, served);
}
