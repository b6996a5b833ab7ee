import { type Agent, artifact, completed, inputRequired, working } from "parley-a2a";

/** Knows the weather, once it knows the day. */
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

/** Plans trips, and asks the other agent for what it does not know itself. */
export const trips: Agent = {
  card: { name: "Trips", description: "Plans a trip.", version: "1.0.0" },
  // After a crash it goes on with the other agent's task where it was.
  recover: "restart",
  async *execute(turn) {
    // Its texts, artifacts and questions are this task's; the user's answer goes to it.
    const { text } = yield* turn.delegate("weather");
    yield artifact({ name: "plan", text: `Take a hat. ${text}` });
    yield completed();
  },
};
