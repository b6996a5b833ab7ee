import { describe, expect, it } from "vitest";
import { apiKeyScheme, httpBearerScheme } from "../../src/auth/index.js";
import type { A2AClient } from "../../src/client/client.js";
import { apiKey } from "../../src/client/credentials/api-key.js";
import { bearer } from "../../src/client/credentials/bearer.js";
import { CardCache } from "../../src/client/discovery/card-cache.js";
import { bindings } from "../../src/client/discovery/interfaces.js";
import type { ClientOptions } from "../../src/client/options.js";
import { A2AError } from "../../src/core/error.js";
import type { Server } from "../../src/server/create-server.js";
import { serveCards } from "./card-server.js";
import { connect, echo, serve } from "./world.js";

/** Ways to call an agent. Each returns the echoed text. */
const calls: Readonly<Record<string, (client: A2AClient) => Promise<string>>> = {
  "one answer": async (client) => (await client.send("say hi")).text,
  "a stream": async (client) => {
    let text = "";
    for await (const update of client.stream("say hi")) text += update.text;
    return text;
  },
  "a method": async (client) => `${(await client.listTasks({})).tasks.length}`,
};
const expected = { "one answer": "hi", "a stream": "hi", "a method": "0" } as Readonly<Record<string, string>>;

/** An agent that refuses all callers, although its card requires no credentials. */
const closed = (refused: () => void = () => {}) =>
  serve({
    authenticator: {
      authenticate: () => {
        refused();
        throw new A2AError("UNAUTHENTICATED", "Nobody is let in.");
      },
    },
  });

const cardOf = async ({ url }: Server): Promise<string> => (await fetch(`${url}/.well-known/agent-card.json`)).text();

/** Replaces an ended server at the same ports with an agent that requires a token. */
async function secured(before: Server): Promise<string[]> {
  const shown: string[] = [];
  const check = (token: string) => {
    shown.push(token);
    return token === "good" ? { owner: "me" } : undefined;
  };
  const security = { schemes: { bearer: httpBearerScheme({ check }) } };
  const { port, grpcPort = 0 } = before;
  const host = new URL(before.url).hostname;
  await before.close({ graceMs: 0 });
  await serve({ agent: { ...echo, security }, host, port, grpcPort });
  return shown;
}

describe.each(bindings)("an agent that begins to ask for credentials, over %s", (binding) => {
  const only = { bindings: [binding], credentials: bearer("good") };

  it.each(Object.keys(calls))("gets them from a client with its cached card, in a call for %s", async (name) => {
    const before = await serve();
    const cache = new CardCache();
    await connect(before.url, { ...only, card: { cache } });
    const shown = await secured(before);
    const client = await connect(before.url, { ...only, card: { cache } });
    expect(client.card.securityRequirements).toEqual([]);
    for (let call = 1; call <= 2; call++) expect(await calls[name]?.(client)).toBe(expected[name]);
    expect(new Set(shown)).toEqual(new Set(["good"]));
    expect(client.card.securityRequirements).toHaveLength(1);
    expect((await connect(before.url, { ...only, card: { cache } })).card.securityRequirements).toHaveLength(1);
  });

  it("gets them from a client that called it before, in several calls at the same time", async () => {
    const before = await serve();
    const client = await connect(before.url, only);
    expect((await client.send("say hi")).text).toBe("hi");
    await secured(before);
    const texts = await Promise.all(Object.values(calls).map((call) => call(client)));
    expect(texts).toEqual(Object.values(expected));
  });

  it("refuses those that it does not know, and hears nothing of a client that has others", async () => {
    const before = await serve();
    const wrong = await connect(before.url, { ...only, credentials: bearer("bad") });
    const other = await connect(before.url, { ...only, credentials: apiKey("key") });
    const shown = await secured(before);
    await expect(calls["one answer"]?.(wrong)).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    expect(shown).toEqual(["bad"]);
    await expect(calls["a stream"]?.(other)).rejects.toMatchObject({
      reason: "UNAUTHENTICATED",
      message: expect.stringContaining("not those that the agent requires"),
    });
    expect(shown).toEqual(["bad"]);
  });

  it("is asked for its card once for each call that it refuses, where its card asks for none", async () => {
    let refused = 0;
    const card = await cardOf(await closed(() => refused++));
    const cards = await serveCards((_, response) => response.setHeader("cache-control", "max-age=60").end(card));
    const client = await connect(cards.url, only);
    for (const call of Object.values(calls)) {
      await expect(call(client)).rejects.toMatchObject({ reason: "UNAUTHENTICATED", message: "Nobody is let in." });
    }
    expect(refused).toBe(3);
    expect(cards.got).toHaveLength(4);
    // A client without credentials cannot use the changed card.
    const without = await connect(cards.url, { bindings: [binding] });
    await expect(calls["one answer"]?.(without)).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    expect(cards.got).toHaveLength(4);
  });

  it("does not keep a caller longer than its call may last, where its card does not arrive", async () => {
    const card = await cardOf(await closed());
    let isFirst = true;
    const cards = await serveCards((_, response) => {
      if (isFirst) response.end(card);
      isFirst = false;
    });
    const client = await connect(cards.url, only);
    await expect(client.listTasks({}, { timeoutMs: 300 })).rejects.toMatchObject({
      reason: expect.stringMatching(/^(?:UNAUTHENTICATED|DEADLINE_EXCEEDED)$/),
    });
  });

  it("gets none on a host that only its card names", async () => {
    const before = await serve({ host: "127.0.0.2" });
    const cards = await serveCards(async (_, response) => response.end(await cardOf(before)));
    const client = await connect(cards.url, only);
    expect((await client.send("say hi")).text).toBe("hi");
    const shown = await secured(before);
    for (const call of Object.values(calls)) {
      await expect(call(client)).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    }
    expect(shown).toEqual([]);
  });
});

it("a skill that begins to ask for credentials gets them", async () => {
  const skills = [{ id: "books", name: "Books", description: "Keeps books.", tags: ["books"] }];
  const agent = { ...echo, card: { name: "Keeper", description: "Keeps books.", version: "1.0.0", skills } };
  const options: ClientOptions = { credentials: apiKey("key") };
  const before = await serve({ agent });
  const client = await connect(before.url, options);
  const { port, grpcPort = 0 } = before;
  await before.close({ graceMs: 0 });
  const security = {
    schemes: { key: apiKeyScheme({ in: "header", name: "x-key", check: (owner: string) => ({ owner }) }) },
    require: [{}],
    skills: { books: { require: ["key"] } },
    skillOf: () => "books",
  };
  await serve({ agent: { ...agent, security }, port, grpcPort });
  expect((await client.send("say hi", { skill: "books" })).text).toBe("hi");
});
