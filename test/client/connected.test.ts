import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { chatTransport } from "../../src/client/ai-sdk/index.js";
import { connect } from "../../src/client/index.js";
import { useConversation } from "../../src/client/react/index.js";
import { type Agent, artifact, completed, createServer, inputRequired, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { CuttingProxy } from "../support/cutting-proxy.js";

/** Number of cut connections in each stream. */
const CUTS = 30;

let isOver = (): boolean => true;
let pieces: string[] = [];

/** Streams pieces until the planned connections have been cut. */
const agent: Agent = {
  card: { name: "Cut", description: "Says much.", version: "1.0.0", skills: [] },
  async *execute(turn) {
    if (turn.text === "ask") return yield inputRequired("Which one?");
    pieces = [];
    for (let index = 0; index === 0 || !isOver(); index++) {
      pieces.push(`${index} `);
      yield artifact({ id: "all", text: `${index} `, append: index > 0 });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    yield completed();
  },
};

/** A card whose interfaces are behind a proxy. */
function behind({ port }: CuttingProxy, card: AgentCard, binding: string): AgentCard {
  const supportedInterfaces = card.supportedInterfaces
    .filter(({ protocolBinding }) => protocolBinding === binding)
    .map((each) => ({ ...each, url: each.url.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${port}`) }));
  return { ...card, supportedInterfaces };
}

describe("a client that is connected", () => {
  let server: Server;
  let card: AgentCard;

  beforeAll(async () => {
    server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: 0, host: "127.0.0.1" });
    const client = await connect(server.url);
    card = client.card;
    await client.close();
  });

  afterAll(() => server.close());

  it.each([
    ["JSONRPC", "JSONRPC"],
    ["HTTP+JSON", "HTTP+JSON"],
    ["CONNECT", "urn:parley:binding:connect:v1"],
    ["GRPC-WEB", "urn:parley:binding:connect:v1"],
    ["GRPC", "GRPC"],
  ] as const)(
    "has all of a stream that is cut again and again, over %s",
    { timeout: 120_000 },
    async (spoken, binding) => {
      const port = binding === "GRPC" ? server.grpcPort : new URL(server.url).port;
      const plan = (nth: number) => ({ bytes: nth === 1 ? 0 : Math.trunc(300 + Math.random() * 1_500) });
      const proxy = await CuttingProxy.open(Number(port), { plan, most: CUTS, refuseEvery: 10 });
      isOver = () => proxy.cuts >= CUTS;
      const limits = { retryMs: 1, maxRetryMs: 20, interfaceRestMs: 1 };
      const client = await connect(behind(proxy, card, binding), { limits, bindings: [spoken] });
      let text = "";
      for await (const update of client.stream("Go.")) text += update.text;
      expect(proxy.cuts).toBe(CUTS);
      expect(text).toBe(pieces.join(""));
      await Promise.all([client.close(), proxy.close()]);
    },
  );

  it("goes on with the task that asked something, in a conversation", async () => {
    const client = await connect(server.url);
    const talk = client.conversation();
    const asked = await talk.send("ask");
    expect(asked.text).toBe("Which one?");
    const kept = JSON.parse(JSON.stringify(talk));
    const later = client.conversation(kept);
    const answer = await later.send("this one");
    expect([answer.taskId, answer.text, later.taskId]).toEqual([asked.taskId, "0 ", undefined]);
    await client.close();
  });

  it("is what the hooks and the chats of the AI SDK take", async () => {
    const client = await connect(server.url);
    const hook: (of: typeof client) => unknown = useConversation;
    expect(hook).toBeTypeOf("function");
    expect(chatTransport(client).resumeStreamIsReplay).toBe(true);
    await client.close();
  });
});
