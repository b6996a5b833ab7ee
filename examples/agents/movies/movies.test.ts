import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FirstJavaScriptClient } from "../../../test/version/v0.1/first-clients.js";
import { type SeenTask, type Served, serve, taskIn } from "../test-support/callers.js";
import { describeKills } from "../test-support/kill-loop.js";
import { describeTalks } from "../test-support/talks.js";
import { describeWireExamples } from "../test-support/wire-examples.js";
import { agent } from "./agent.js";
import { searchMovies, searchPeople } from "./catalog.js";
import { rules } from "./rules.js";

let served: Served;
beforeAll(async () => {
  served = await serve(agent);
});
afterAll(() => served.close());

const progress = ["Processing your question, hang tight!"];
const says = (question: string, text: string) => ({ says: question, text, progress });

describeTalks(
  () => served,
  [
    {
      title: "answers the examples of its card",
      exchanges: [
        says(
          "Tell me about the plot of Inception.",
          "Inception (2010): A thief who steals secrets from dreams is offered a pardon if he can plant an idea in a " +
            "man's mind instead.",
        ),
        says("Who directed The Matrix?", "The Matrix was directed by Lana and Lilly Wachowski."),
        says(
          "What other movies has Scarlett Johansson been in?",
          "Scarlett Johansson is known for these movies: Her (2013), Lost in Translation (2003), The Avengers (2012).",
        ),
        says(
          "Find action movies starring Keanu Reeves",
          "Keanu Reeves is known for these movies: The Matrix (1999), John Wick (2014), Speed (1994).",
        ),
      ],
    },
    {
      title: "compares two movies, which it looks up at the same time",
      exchanges: [
        says(
          "Which came out first, Jurassic Park or Terminator 2?",
          "Terminator 2: Judgment Day (1991) came out before Jurassic Park (1993).",
        ),
      ],
    },
    {
      title: "asks for the genre, and continues with the answer",
      exchanges: [
        { says: "Recommend a good movie.", state: "input-required", text: "Which genre do you like?", progress },
        says(
          "A horror film, please",
          "I recommend Alien (1979): The crew of a freighter brings a deadly creature on board.",
        ),
      ],
    },
    {
      title: "tells why it has failed",
      exchanges: [
        {
          says: "Crash the projector",
          state: "failed",
          text: "Agent error: INVALID_ARGUMENT: 400 The projector is broken.",
          progress,
        },
      ],
    },
  ],
);

describe("a task", () => {
  it("has a goal, which its later turns know too", async () => {
    const { state, text } = await send({ text: "Recommend a good movie.", metadata: { goal: "cheer me up" } });
    expect([state, text]).toEqual(["input-required", "Which genre do you like? It should help you to: cheer me up"]);
  });

  it("without a text fails", async () => {
    expect(await send({ text: " " })).toMatchObject({ state: "failed", text: "No message found to process." });
  });

  async function send({ text, metadata }: { text: string; metadata?: object }): Promise<SeenTask> {
    const message = { role: "user", parts: [{ type: "text", text }] };
    const params = { id: crypto.randomUUID(), message, metadata };
    return taskIn((await new FirstJavaScriptClient(served.url).call("tasks/send", params)) as JsonObject);
  }
});

it("leaves the signals to the server", () => {
  const listeners = [...process.listeners("SIGINT"), ...process.listeners("SIGTERM")];
  expect(listeners.filter((listener) => String(listener).includes("process.exit"))).toEqual([]);
});

describe("the shipped movies", () => {
  it("are found by title, with the whole URL of the poster", async () => {
    const [movie] = await searchMovies("interstellar");
    expect(movie?.poster_path).toBe("https://image.tmdb.org/t/p/w500/interstellar.jpg");
  });

  it("are known by their people", async () => {
    const [person] = await searchPeople("christopher nolan");
    expect(person?.known_for_department).toBe("Directing");
    expect(person?.known_for.map(({ title }) => title)).toEqual(["Inception", "Interstellar", "The Dark Knight"]);
  });
});

describeWireExamples(new URL("README.md", import.meta.url), () => served);

describeKills({
  module: new URL("agent.ts", import.meta.url).href,
  rules,
  says: ["Recommend a good movie.", "Something with horror", "Compare The Godfather and Pulp Fiction"],
});
