import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { artifact, completed, inputRequired, working } from "parley-a2a";

const holder = randomUUID().slice(0, 8);

/** Records a side effect with a time that all processes share. */
function effect(turn, step, value) {
  const at = Number(process.hrtime.bigint() / 1_000n) / 1_000;
  const { taskId: task, attempt } = turn;
  const line = { task, message: turn.message.messageId, attempt, step, value, holder, at };
  appendFileSync(process.env.CHAOS_EFFECTS, `${JSON.stringify(line)}\n`);
  return value;
}

/** Another server with the same agent, which receives the sub-tasks. */
export const remoteAgents = process.env.CHAOS_PEER === undefined ? {} : { peer: process.env.CHAOS_PEER };

/**
 * Streams numbered pieces, with a step before every third. Each piece names the message, the attempt, the process and
 * its number. If `stubborn`, it continues after its signal has fired, as an agent may. If `delegates`, another server
 * does the work.
 */
export default {
  card: { name: "Chaos", description: "Numbers its pieces.", version: "1.0.0", skills: [] },
  recover: "restart",
  async *execute(turn) {
    const { pieces, pause, asks, stubborn, delegates } = JSON.parse(turn.text);
    const { messageId } = turn.message;
    const mark = (what, value = "") => `${messageId} ${turn.attempt} ${holder} ${what} ${value}`.trim();
    yield working(mark("begin"));
    if (delegates && process.env.CHAOS_PEER !== undefined) {
      const work = { pieces, pause, asks: false, stubborn: false, delegates: false, parent: turn.taskId };
      yield* turn.delegate("peer", JSON.stringify(work), { name: "sub" });
      yield completed(mark("done"));
      return;
    }
    for (let number = 1; number <= pieces; number++) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      if (turn.signal.aborted && !stubborn) throw turn.signal.reason;
      const step = `${number}`;
      const value =
        number % 3 === 0 ? await turn.step(step, () => effect(turn, step, `${turn.attempt}-${randomUUID()}`)) : "";
      const last = number === pieces;
      yield artifact({ id: messageId, text: mark(number, value), append: number > 1, lastChunk: last });
    }
    yield asks ? inputRequired(mark("asks")) : completed(mark("done"));
  },
};
