import { type Agent, apiKey, artifact, completed, jwt } from "parley-a2a";

/** An agent for callers with a token of this issuer that may read, or with the key of the nightly run. */
export const books = (issuer: string, nightlyKey: string): Agent => ({
  card: {
    name: "Books",
    description: "Keeps the books of whoever asks.",
    version: "1.0.0",
    skills: [{ id: "whose", name: "Whose", description: "Says whose books they are.", tags: ["text"] }],
  },
  security: {
    schemes: {
      bearer: jwt({ jwks: `${issuer}/jwks`, issuer, audience: "books", owner: ({ sub }) => person(sub) }),
      nightly: apiKey({ in: "header", name: "X-Api-Key", keys: [{ owner: "nightly", key: nightlyKey }] }),
    },
    require: [{ bearer: ["books.read"] }, "nightly"],
  },
  async *execute(turn) {
    yield artifact({ name: "books", text: `The books of ${turn.caller.owner}.` });
    yield completed();
  },
});

/** Keeps the names of people apart from those of keys: the issuer may call a person "nightly". */
const person = (sub: unknown): string | undefined => (typeof sub === "string" ? `person:${sub}` : undefined);
