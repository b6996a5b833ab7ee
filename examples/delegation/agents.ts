import { type Agent, artifact, completed, inputRequired, working } from "parley-a2a";

/** Tells the weather after asking for the day. */
export const weather: Agent = {
  card: { name: "Weather", description: "Tells the weather of a day.", version: "1.0.0" },
  async *execute(turn) {
    if (turn.history.length === 0) {
      yield inputRequired("For which day?");
      return;
    }
    yield working(`Looking at ${turn.text}…`);
    yield artifact({ name: "forecast", text: `${turn.text}: sunny` });
  },
};

/** Plans trips with the forecast of the other agent. */
export const trips: Agent = {
  card: { name: "Trips", description: "Plans a trip.", version: "1.0.0" },
  // After a crash the turn runs again and continues its sub-task.
  recover: "restart",
  async *execute(turn) {
    // Relays the texts, artifacts and questions of the sub-task, and the user's answers to it.
    const { text } = yield* turn.delegate("weather");
    yield artifact({ name: "plan", text: `Take a hat. ${text}` });
    yield completed();
  },
};
