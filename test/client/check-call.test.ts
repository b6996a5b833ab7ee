import { describe, expect, it } from "vitest";
import type { A2AClient } from "../../src/client/client.js";
import { bearer } from "../../src/client/credentials/bearer.js";
import type { Credentials } from "../../src/client/credentials/credential.js";
import { cardJson } from "./card-server.js";
import { connect, serve } from "./world.js";

type Call = (client: A2AClient, options: object) => Promise<unknown>;

async function drained(updates: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of updates);
}

/** Every method that takes options. */
const calls: readonly (readonly [name: string, call: Call])[] = [
  ["send", (client, options) => client.send("say hi", options)],
  ["stream", async (client, options) => drained(client.stream("say hi", options))],
  ["follow", async (client, options) => drained(client.follow("t", options))],
  ["a conversation's send", (client, options) => client.conversation().send("say hi", options)],
  ["a conversation's stream", async (client, options) => drained(client.conversation().stream("say hi", options))],
  ["getTask", (client, options) => client.getTask({ id: "t" }, options)],
  ["subscribeToTask", async (client, options) => drained(client.subscribeToTask({ id: "t" }, options))],
];

describe.each(calls)("the options of %s", (_, call) => {
  it.each([
    [{ timeoutMS: 5 }, "the option timeoutMS is not known: did you mean timeoutMs?"],
    [{ nonsense: 5 }, "the option nonsense is not known"],
    [{ timeoutMs: -1 }, "timeoutMs is -1, not a number of milliseconds from 0, which means no limit"],
    [{ timeoutMs: Number.NaN }, "timeoutMs is NaN, not a number of milliseconds from 0, which means no limit"],
    [{ timeoutMs: "5" }, 'timeoutMs is "5", not a number of milliseconds from 0, which means no limit'],
  ])("are refused with a word where they cannot be meant: %j", async (options, message) => {
    const client = await connect(cardJson());
    await expect(call(client, options)).rejects.toMatchObject({
      name: "A2AError",
      reason: "INVALID_PARAMS",
      message: `Invalid parameters: ${message}`,
      violations: [{ field: Object.keys(options)[0], description: message }],
    });
  });
});

describe("the options of stream and follow", () => {
  it.each([
    [{ stallMs: 0 }, "stallMs is 0, not a number above 0"],
    [{ stallMs: Number.NaN }, "stallMs is NaN, not a number above 0"],
    [{ maxTaskBytes: -5 }, "maxTaskBytes is -5, not a number above 0"],
    [{ afterGeneration: 1.5 }, "afterGeneration is 1.5, not a whole number from 0 to 9007199254740991"],
  ])("are refused with a word where they cannot be meant: %j", async (options, message) => {
    const client = await connect(cardJson());
    const failure = { reason: "INVALID_PARAMS", message: `Invalid parameters: ${message}` };
    await expect((async () => drained(client.follow("t", options)))()).rejects.toMatchObject(failure);
    await expect((async () => drained(client.stream("x", options)))()).rejects.toMatchObject(failure);
  });

  it("may be undefined, and have no end", async () => {
    const client = await connect((await serve()).url);
    const options = { timeoutMs: undefined, stallMs: undefined } as object;
    expect((await client.send("say hi", { timeoutMs: Number.POSITIVE_INFINITY })).text).toBe("hi");
    await drained(client.stream("say hi", options));
  });
});

describe("the credentials of connect()", () => {
  const form = "make one by bearer(token), apiKey(key) or basic(name, password)";

  it.each([
    ["secret", `credentials is a text, not a credential: ${form}`],
    [null, `credentials is null, not a credential: ${form}`],
    [{ scheme: "secret" }, `credentials.scheme is a text, not a credential: ${form}`],
    [[bearer("t"), "secret"], `credentials[1] is a text, not a credential: ${form}`],
    [{ scheme: { token: "secret" } }, `credentials.scheme is a value of type object, not a credential: ${form}`],
  ])("are refused where they are none: %j", async (credentials, message) => {
    const connecting = connect(cardJson(), { credentials: credentials as unknown as Credentials });
    await expect(connecting).rejects.toMatchObject({
      reason: "INVALID_PARAMS",
      message: `Invalid parameters: ${message}`,
    });
  });

  it("may be named fits and apply", async () => {
    const credentials = { fits: bearer("t"), apply: bearer("t") };
    await expect(connect(cardJson(), { credentials })).resolves.toBeDefined();
  });
});
