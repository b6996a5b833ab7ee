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

/** Time of the main thread, in microseconds: that it ran, and that it could have run and others did. */
interface ThreadTime {
  readonly cpu: number;
  readonly delay: number;
}

/** Linux counts it for each thread, in nanoseconds; 0 where the system does not tell. */
function mainThread(): ThreadTime {
  try {
    const [cpu = "", delay = ""] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ");
    return { cpu: Number(cpu) / 1_000, delay: Number(delay) / 1_000 };
  } catch {
    return { cpu: 0, delay: 0 };
  }
}

function usage(): Usage {
  const cpu = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { cpuMicros: cpu.user + cpu.system, mainMicros: mainThread().cpu, rss, heap: heapUsed, external };
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

/** Time between two checks of the event loop, in milliseconds. */
const PROBE_MS = 2;

/**
 * The longest time between two looks, beyond what was asked for; the same without the time for which others had the
 * processor; and the most that the thread used of one.
 */
class Stops {
  #timer: NodeJS.Timeout | undefined;
  #last = 0;
  #lastTime: ThreadTime = { cpu: 0, delay: 0 };
  #longest = 0;
  #longestOwn = 0;
  #mostCpu = 0;

  begin(): void {
    clearInterval(this.#timer);
    this.#longest = 0;
    this.#longestOwn = 0;
    this.#mostCpu = 0;
    this.#last = performance.now();
    this.#lastTime = mainThread();
    this.#timer = setInterval(() => this.#look(), PROBE_MS);
  }

  end(): Stopped {
    this.#look();
    clearInterval(this.#timer);
    return { longest: this.#longest, mostCpu: this.#mostCpu, longestOwn: this.#longestOwn };
  }

  #look(): void {
    const now = performance.now();
    const time = mainThread();
    const stop = now - this.#last - PROBE_MS;
    this.#longest = Math.max(this.#longest, stop);
    this.#longestOwn = Math.max(this.#longestOwn, stop - (time.delay - this.#lastTime.delay) / 1_000);
    this.#mostCpu = Math.max(this.#mostCpu, (time.cpu - this.#lastTime.cpu) / 1_000);
    this.#last = now;
    this.#lastTime = time;
  }
}

const stops = new Stops();

/** Answers the questions of the bench. `go` is called when the bench lets waiting agents continue. */
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
