import { type Agent, artifact, completed, inputRequired, working } from "parley-a2a";
import { book, planFor } from "./services.js";

/** Plans a trip and books it. Neither a question nor a crash makes it call the model or book twice. */
export const agent: Agent = {
  card: { name: "Trips", description: "Plans a trip and books it.", version: "1.0.0" },
  recover: "restart",
  async *execute(turn) {
    // The turn that brings the answer gets the plan of the first turn.
    const plan = await turn.step("plan", () => planFor(turn.text), { per: "task" });
    if (turn.history.length === 0) return yield inputRequired(`Shall I book ${plan.stops.join(" and ")}?`);
    if (!/^y/i.test(turn.text)) return yield completed("Nothing is booked.");
    for (const stop of plan.stops) {
      const booking = await turn.step("book", (signal) => book(stop, signal), { retries: 3, timeoutMs: 10_000 });
      yield working(`${stop} is booked.`);
      yield artifact({ id: stop, name: "booking", text: booking });
    }
  },
};
