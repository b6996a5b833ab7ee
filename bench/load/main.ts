/** The load generator, a process of its own. It does what its parent asks for. */

import type { Job } from "../protocol.js";
import { answerQuestions } from "../servers/child.js";
import { paced, slowReaders } from "./paced.js";
import { answer, rate, stream } from "./rate.js";
import { Subscribers } from "./subscribers.js";

let subscribers = new Subscribers();

async function work(job: Job): Promise<unknown> {
  switch (job.kind) {
    case "rate":
      return rate(job);
    case "paced":
      return paced(job);
    case "slow-readers":
      return slowReaders(job);
    case "stream":
      return stream(job.call, job.limitMs);
    case "answer":
      return answer(job.call);
    case "subscribe":
      await subscribers.open(job);
      return {};
    case "gather":
      return subscribers.gather();
    case "catch-up":
      return subscribers.catchUp();
    case "leave":
      return leave();
  }
}

function leave(): Record<string, never> {
  subscribers.close();
  subscribers = new Subscribers();
  return {};
}

answerQuestions(work, {});
