import { type Agent, artifact, completed } from "parley-a2a";

/** The agent that the examples embed. */
export const greeter: Agent = {
  card: {
    name: "Greeter",
    description: "Greets whoever it is told to.",
    version: "1.0.0",
    skills: [
      { id: "greet", name: "Greet", description: "Greets somebody by name.", tags: ["text"], examples: ["Ann"] },
    ],
  },
  async *execute(turn) {
    yield artifact({ name: "greeting", text: `Hello ${turn.text}!` });
    yield completed();
  },
};

/** An example that runs. */
export interface Running {
  readonly port: number;
  stop(): Promise<void>;
}
