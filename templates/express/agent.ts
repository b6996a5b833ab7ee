import { type Agent, AgentError, artifact } from "parley-a2a";

export const agent: Agent = {
  card: {
    name: "my-agent",
    description: "Splits a text into sentences.",
    version: "0.1.0",
    skills: [
      {
        id: "split",
        name: "Split",
        description: "Splits a text into sentences.",
        tags: ["text", "streaming"],
        examples: ["One. Two!"],
      },
    ],
  },
  async *execute({ text }) {
    const sentences = text.match(/[^.!?\s][^.!?]*[.!?]*\s*/g);
    if (sentences === null) throw new AgentError("Send a text.");
    for (const one of sentences) yield artifact({ name: "sentences", text: one, append: true });
  },
};
