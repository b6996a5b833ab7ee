import { type Agent, artifact, completed } from "parley-a2a";
import { apiKeyScheme, jwtScheme } from "parley-a2a/auth";

/** Serves callers with this issuer's token and the scope to read, or with the nightly run's key. */
export const books = (issuer: string, nightlyKey: string): Agent => ({
  card: {
    name: "Books",
    description: "Keeps its callers' books.",
    version: "1.0.0",
    skills: [{ id: "whose", name: "Whose", description: "Names their owner.", tags: ["text"] }],
  },
  security: {
    schemes: {
      bearer: jwtScheme({
        jwks: `${issuer}/jwks`,
        issuer,
        audience: "books",
        owner: ({ sub }) => person(sub),
      }),
      nightly: apiKeyScheme({
        in: "header",
        name: "X-Api-Key",
        keys: [{ owner: "nightly", key: nightlyKey }],
      }),
    },
    require: [{ bearer: ["books.read"] }, "nightly"],
  },
  async *execute(turn) {
    yield artifact({ name: "books", text: `The books of ${turn.caller.owner}.` });
    yield completed();
  },
});

/** Keeps people apart from keys: the issuer may call a person "nightly". */
const person = (sub: unknown): string | undefined => {
  return typeof sub === "string" ? `person:${sub}` : undefined;
};
