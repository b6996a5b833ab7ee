import { createServer } from "node:http";
import { create } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { apiKeyScheme, httpBearerScheme } from "../../src/auth/index.js";
import type { VerifiedCard } from "../../src/client/discovery/discovery.js";
import { bindings } from "../../src/client/discovery/interfaces.js";
import { apiKey, bearer } from "../../src/client/index.js";
import type { Server } from "../../src/server/create-server.js";
import { serveCards } from "./card-server.js";
import { atEnd, connect, echo, serve } from "./world.js";

const books = { id: "books", name: "Books", description: "Keeps books.", tags: ["books"] };

/** An agent whose extended card adds a skill, which requires a key. */
function keeper(shown: string[]): Agent {
  const check = (secret: string) => {
    shown.push(secret);
    return { owner: "me" };
  };
  return {
    ...echo,
    extendedCard: { name: "Extended", skills: [books] },
    security: {
      schemes: { bearer: httpBearerScheme({ check }), key: apiKeyScheme({ in: "header", name: "x-key", check }) },
      require: ["bearer"],
      skills: { books: { require: ["key"] } },
      skillOf: ({ metadata }) => metadata?.skill as string | undefined,
    },
  } as Agent;
}

const credentials = { bearer: bearer("token"), key: apiKey("key") };

/** Changes extended cards in responses. */
const changing =
  (change: (card: AgentCard) => Partial<AgentCard>): Interceptor =>
  (next) =>
  async (request) => {
    const response = await next(request);
    if (request.method.name !== "GetExtendedAgentCard" || response.stream) return response;
    const card = response.message as AgentCard;
    return { ...response, message: create(AgentCardSchema, { ...card, ...change(card) }) } as typeof response;
  };

describe.each(bindings)("the extended card over %s", (binding) => {
  const only = { bindings: [binding] };

  it("takes the place of the public one [CLI-CARD-13]", async () => {
    const shown: string[] = [];
    const server = await serve({ agent: keeper(shown) });
    const client = await connect(server.url, { ...only, credentials });
    const talk = client.conversation();
    const message = { parts: "say hi", metadata: { skill: "books" } };
    await expect(talk.send(message, { skill: "books" })).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    expect(shown).toEqual(["token"]);
    const extended = await client.extendedCard();
    expect(client.card).toBe(extended);
    expect(client.card).toMatchObject({ name: "Extended", skills: [{ id: "books" }] });
    shown.length = 0;
    expect((await talk.send(message, { skill: "books" })).text).toBe("hi");
    expect(new Set(shown)).toEqual(new Set(["token", "key"]));
    // The card may be fetched repeatedly.
    expect((await client.extendedCard()).name).toBe("Extended");
  });

  it("has later calls go by its interfaces", async () => {
    const first: string[] = [];
    const second: string[] = [];
    const [server, other] = [await serve({ agent: keeper(first) }), await serve({ agent: keeper(second) })];
    const { card } = await connect(other.url);
    const { supportedInterfaces } = card;
    const interceptors = [changing(() => ({ supportedInterfaces }))];
    const client = await connect(server.url, { ...only, credentials, interceptors });
    await client.extendedCard();
    first.length = 0;
    expect((await client.send("say hi")).text).toBe("hi");
    let text = "";
    for await (const update of client.stream("count")) text += update.text;
    expect(text).toBe("one two three");
    expect([first.length, second.length]).toEqual([0, 2]);
    expect(supportedInterfaces.map(({ url }) => url)).toContain(client.interface.url);
  });

  it("leaves what it does not name as it was", async () => {
    const shown: string[] = [];
    const server = await serve({ agent: keeper(shown) });
    const empty = create(AgentCardSchema, { name: "Fragment" });
    const unknown = [{ protocolBinding: "SMOKE", url: "x", protocolVersion: "1.0" }];
    for (const change of [() => empty, () => create(AgentCardSchema, { supportedInterfaces: unknown })]) {
      const client = await connect(server.url, { ...only, credentials, interceptors: [changing(change)] });
      await client.extendedCard();
      shown.length = 0;
      let text = "";
      for await (const update of client.stream("count")) text += update.text;
      expect(text).toBe("one two three");
      expect(shown).toEqual(["token"]);
      await client.extendedCard();
    }
  });

  it("is not used where its signature is not trusted", async () => {
    const server = await serve({ agent: keeper([]) });
    const verify = async (text: string): Promise<VerifiedCard> => {
      const card = create(AgentCardSchema, (await connect(server.url)).card);
      const isPublic = (JSON.parse(text) as { name: string }).name === "Echo";
      return { verified: isPublic, card, signatures: [{ why: "it is not known" }] };
    };
    const client = await connect(server.url, { ...only, credentials, card: { cache: false, verify } });
    await expect(client.extendedCard()).rejects.toMatchObject({
      reason: "INVALID_AGENT_RESPONSE",
      message: "The extended card has no signature that is trusted: it is not known.",
    });
    expect(client.card.name).toBe("Echo");
    expect((await client.send("say hi")).text).toBe("hi");
  });
});

describe("a client with an extended card", () => {
  const cardOf = async ({ url }: Server): Promise<string> => (await fetch(`${url}/.well-known/agent-card.json`)).text();

  /** Starts another program at the port of an ended server. */
  async function replaced({ url, port, close }: Server): Promise<string[]> {
    await close({ graceMs: 0 });
    const asked: string[] = [];
    const other = createServer((request, response) => {
      asked.push(request.url ?? "");
      response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => other.listen(port, new URL(url).hostname, resolve));
    atEnd(() => other.close());
    return asked;
  }

  async function extended() {
    const shown: string[] = [];
    const server = await serve({ agent: keeper([]) });
    const present = { card: await cardOf(server) };
    const cards = await serveCards((_, response) => response.end(present.card));
    const client = await connect(cards.url, { bindings: ["JSONRPC"], credentials });
    const card = await client.extendedCard();
    return { client, card, shown, server, present, cards };
  }

  it("follows an interface that has moved, and keeps its card", async () => {
    const { client, card, shown, server, present, cards } = await extended();
    const next = await serve({ agent: keeper(shown) });
    present.card = await cardOf(next);
    const asked = await replaced(server);
    const message = { parts: "say hi", metadata: { skill: "books" } };
    expect((await client.send(message, { skill: "books" })).text).toBe("hi");
    let text = "";
    for await (const update of client.stream("count")) text += update.text;
    expect(text).toBe("one two three");
    expect([asked.length, cards.got.length]).toEqual([1, 2]);
    expect(new Set(shown)).toEqual(new Set(["token", "key"]));
    expect(client.card).toBe(card);
    expect(client.interface.url).toBe(next.url);
    expect((await client.extendedCard()).name).toBe("Extended");
  });

  it("keeps its interfaces where the public card changes in other ways", async () => {
    const { client, card, server, present, cards } = await extended();
    present.card = JSON.stringify({ ...JSON.parse(present.card), description: "Is another one." });
    const asked = await replaced(server);
    await expect(client.send("say hi")).rejects.toMatchObject({ reason: "METHOD_NOT_FOUND" });
    expect([asked.length, cards.got.length]).toEqual([1, 2]);
    expect(client.card).toBe(card);
  });

  it("keeps the state of its interfaces where the public card changes in other ways", async () => {
    const { client, server, present, cards } = await extended();
    const asked = await replaced(server);
    for (const [call, method] of ["listTasks", "getTask", "listTasks"].entries()) {
      present.card = JSON.stringify({ ...JSON.parse(present.card), description: `Is number ${call}.` });
      const called = method === "getTask" ? client.getTask({ id: "t" }) : client.listTasks({});
      await expect(called).rejects.toMatchObject({ reason: "METHOD_NOT_FOUND" });
    }
    expect([asked.length, cards.got.length]).toEqual([3, 3]);
  });

  it("gives no credentials to a host that only the present card names", async () => {
    const { client, shown, server, present } = await extended();
    present.card = await cardOf(await serve({ agent: keeper(shown), host: "127.0.0.2" }));
    await replaced(server);
    await expect(client.send("say hi")).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    expect(shown).toEqual([]);
  });
});
