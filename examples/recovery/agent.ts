import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, artifact } from "parley-a2a";

const words = "Every event is stored before any caller sees it.".split(" ");

/** Says a sentence word by word. A turn that a crash cut off continues after the last stored word. */
export const agent: Agent = {
  card: { name: "Sentence", description: "Says a sentence word by word.", version: "1.0.0" },
  recover: "restart",
  async *execute(turn) {
    const said = turn.task?.artifacts[0]?.parts.length ?? 0;
    for (const word of words.slice(said)) {
      yield artifact({ name: "sentence", text: `${word} `, append: true });
      await sleep(400, undefined, { signal: turn.signal });
    }
  },
};
