import { type Agent, artifact, completed } from "parley-a2a";
import { canceled } from "parley-a2a/events";

/** The agent of this app. */
export const greeter: Agent = {
  card: {
    name: "Greeter",
    description: "Greets whoever it is told to.",
    version: "1.0.0",
    skills: [{ id: "greet", name: "Greet", description: "Greets somebody by name.", tags: ["text"] }],
  },
  async *execute({ text, signal }) {
    yield artifact({ id: "greeting", text: "Hello ", append: true });
    yield artifact({ id: "greeting", text: `${text}!`, append: true });
    if (text !== "Godot") return yield completed();
    // Somebody to wait for.
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    yield canceled();
  },
};
