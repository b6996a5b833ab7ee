import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, artifact, completed, inputRequired, working } from "parley-a2a";

/** Writes slowly about what it is asked, so that there is something to see. Asked nothing, it asks back. */
export const writer: Agent = {
  card: { name: "Writer", description: "Writes a few lines about anything.", version: "1.0.0" },
  recover: "restart",
  async *execute(turn) {
    const about = turn.text.trim();
    if (about === "?") return yield inputRequired("What shall I write about?");
    yield working("Thinking.");
    const words = `Of ${about} much could be said, and some of it has been. `.repeat(4).split(/(?<= )/);
    // After a crash it continues after the words that are already stored.
    const [written] = turn.task?.artifacts.filter(({ name }) => name === "text") ?? [];
    for (const [i, text] of [...words.entries()].slice(written?.parts.length ?? 0)) {
      await sleep(50, undefined, { signal: turn.signal });
      yield artifact({ name: "text", text, append: i > 0, lastChunk: i + 1 === words.length });
    }
    yield completed();
  },
};
