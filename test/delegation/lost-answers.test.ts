import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { artifact, completed, inputRequired } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { remoteBounds } from "../../src/delegation/remotes.js";
import { type A2A, createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { CONNECT_BINDING } from "../../src/wire/card-names.js";
import { setConstants } from "../support/constants.js";
import { agentOf, Servers } from "./servers.js";

const connect = connectWith(nodePlatform);
const servers = new Servers();
const opened: HttpServer[] = [];
const clients: A2AClient[] = [];
let other: A2A;
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await servers.close();
  for (const server of opened.splice(0)) server.close().closeAllConnections();
  await other.close({ graceMs: 0 });
});

/** Faults of an agent. */
interface Faults {
  readonly binding: string;
  readonly hasList: boolean;
  /** True if the answer to the nth send is lost. */
  readonly isLost: (nth: number) => boolean;
}

/**
 * Serves an agent without extensions over one binding. It handles each send and loses some answers. Returns its URL,
 * the sends that arrived and the texts.
 */
async function losing({
  binding,
  hasList,
  isLost,
}: Faults): Promise<{ url: string; sends: string[]; heard: string[] }> {
  const sends: string[] = [];
  const heard: string[] = [];
  const server = createHttpServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = `http://${request.headers.host}`;
    const headers = new Headers(request.headers as Record<string, string>);
    headers.delete("idempotency-key");
    const body = request.method === "GET" ? null : Buffer.concat(chunks);
    const call = new Request(`${url}${request.url}`, { method: request.method ?? "GET", headers, body });
    const name = `${request.url} ${binding === "JSONRPC" ? body : ""}`;
    if (!hasList && (/ListTasks/.test(name) || (request.method === "GET" && /\/tasks(\?|$)/.test(request.url ?? ""))))
      return void response.writeHead(404).end();
    const answer = await other.fetch(call);
    const isSend = /SendStreamingMessage|message:stream/.test(name);
    if (isSend) sends.push(request.url ?? "");
    if (isSend && isLost(sends.length)) {
      // The agent has received the message when the connection breaks.
      await expect.poll(() => heard.length).toBe(sends.length);
      await answer.body?.cancel();
      return void request.socket.destroy();
    }
    // A client that reads the card again sends a conditional request.
    const isCard = request.url?.endsWith("agent-card.json") && answer.status === 200;
    const said = isCard ? JSON.stringify(plain((await answer.json()) as object, binding, url)) : undefined;
    response.writeHead(
      answer.status,
      Object.fromEntries([...answer.headers].filter(([it]) => it !== "content-length")),
    );
    if (said !== undefined) return void response.end(said);
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  opened.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  other = createA2A({
    agent: agentOf("Other", async function* (turn) {
      heard.push(turn.text);
      if (turn.text === "ask") return yield inputRequired("Which?");
      yield artifact({ id: "a", text: `done ${turn.text}` });
    }),
    store: memoryStore(),
    publicUrl: url,
    cardGrpc: "omit",
  });
  return { url, sends, heard };
}

function plain(card: object, binding: string, url: string): object {
  return {
    ...card,
    supportedInterfaces: [{ protocolBinding: binding, url, protocolVersion: "1.0" }],
    capabilities: { streaming: true },
  };
}

/**
 * Sends texts to an agent that delegates them, each one to the task of the one before. Returns the last task's result.
 */
async function delegated(url: string, ...texts: string[]): Promise<string> {
  const front = agentOf("Front", async function* (turn) {
    const { text } = yield* turn.delegate("other");
    yield completed(text);
  });
  const server = await servers.serve(front, { remoteAgents: { other: url } });
  const client = await connect(server.url);
  clients.push(client);
  const conversation = client.conversation();
  let last = "";
  for (const text of texts) {
    const { state, task } = await conversation.send(text);
    last = `${TaskState[state ?? 0]} ${task?.status?.message?.parts.map(({ content }) => content.value).join("")}`;
  }
  return last;
}

describe.each(["JSONRPC", "HTTP+JSON", CONNECT_BINDING])(
  "a delegation over %s to an agent that does not declare idempotency",
  (binding) => {
    it("sends once and fails where an answer is lost and nothing tells of the sub-task", async () => {
      setConstants(remoteBounds, { maxOutageMs: 2_000 });
      const { url, sends, heard } = await losing({ binding, hasList: false, isLost: () => true });
      expect(await delegated(url, "go")).toBe("FAILED The agent other could not do its part: UNAVAILABLE.");
      expect([sends.length, heard]).toEqual([1, ["go"]]);
    });

    it("sends once and follows the sub-task where its answer is lost and it is listed", async () => {
      const { url, sends, heard } = await losing({ binding, hasList: true, isLost: () => true });
      expect(await delegated(url, "go")).toBe("COMPLETED done go");
      expect([sends.length, heard]).toEqual([1, ["go"]]);
    });

    it("sends the answer to a question once, and follows where its own answer is lost", async () => {
      const { url, sends, heard } = await losing({ binding, hasList: false, isLost: (nth) => nth === 2 });
      expect(await delegated(url, "ask", "this")).toBe("COMPLETED done this");
      expect([sends.length, heard]).toEqual([2, ["ask", "this"]]);
    });
  },
);
