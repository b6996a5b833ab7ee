import { fileURLToPath } from "node:url";
import type { MessageData } from "genkit";
import type { ModelMiddleware } from "genkit/model";
import { type Agent, AgentError, completed, inputRequired, type Turn, working } from "parley-a2a";
import { failed } from "parley-a2a/events";
import { modelFor } from "../offline-model/model.js";
import { searchMovies, searchPeople } from "./catalog.js";
import { genkit, openAICompatible, z } from "./genkit.js";
import { rules } from "./rules.js";

const { baseURL, apiKey, model } = await modelFor(rules);

const ai = genkit({
  plugins: [openAICompatible({ name: "llm", apiKey, baseURL })],
  promptDir: fileURLToPath(new URL(".", import.meta.url)),
});

const inputSchema = z.object({ query: z.string() });

const moviesByTitle = ai.defineTool(
  { name: "searchMovies", description: "Searches for movies by title.", inputSchema },
  ({ query }, { abortSignal }) => searchMovies(query, abortSignal),
);

const peopleByName = ai.defineTool(
  { name: "searchPeople", description: "Searches for people by name, with their movies.", inputSchema },
  ({ query }, { abortSignal }) => searchPeople(query, abortSignal),
);

/** The file movie_agent.prompt. */
const movieAgent = ai.prompt("movie_agent");

/** Stores each answer of the model as a step: a turn that runs again after a crash does not ask for it again. */
const storedBy =
  (turn: Turn): ModelMiddleware =>
  (request, next) =>
    turn.step("model", () => next(request).catch(fail));

function fail(error: Error): never {
  throw new AgentError(`Agent error: ${error.message}`);
}

/** Answers questions about movies, and asks back. Its memory is the conversation. */
export const agent: Agent = {
  card: {
    name: "Movie Agent",
    description: "An agent that can answer questions about movies and actors using TMDB.",
    version: "1.0.0",
    skills: [
      {
        id: "general_movie_chat",
        name: "General Movie Chat",
        description: "Answers general questions or chats about movies, actors and directors.",
        tags: ["movies", "actors", "directors"],
        examples: [
          "Tell me about the plot of Inception.",
          "Recommend a good sci-fi movie.",
          "Who directed The Matrix?",
          "What other movies has Scarlett Johansson been in?",
          "Find action movies starring Keanu Reeves",
          "Which came out first, Jurassic Park or Terminator 2?",
        ],
      },
    ],
  },
  recover: "restart",
  checkOutputModes: true,
  async *execute(turn) {
    if (turn.text.trim() === "") return yield failed("No message found to process.");
    const talk = await turn.conversation.messages();
    const messages = talk.map(({ role, text }): MessageData => {
      return { role: role === "user" ? "user" : "model", content: [{ text }] };
    });
    yield working("Processing your question, hang tight!");
    const { goal } = turn.initialMetadata;
    const answer = await movieAgent(
      { goal, now: new Date().toISOString() },
      {
        model: `llm/${model}`,
        messages,
        tools: [moviesByTitle, peopleByName],
        use: [storedBy(turn)],
        abortSignal: turn.signal,
      },
    );
    // The last line of the answer is the state of the task.
    const [, text = "", state] = /^([\s\S]*?)\s*(COMPLETED|AWAITING_USER_INPUT)?\s*$/.exec(answer.text) ?? [];
    yield state === "AWAITING_USER_INPUT" ? inputRequired(text) : completed(text);
  },
};
