import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { artifact, completed } from "../../../src/agent/event.js";
import { type Agent, createA2A } from "../../../src/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { atEnd } from "../world.js";

export type ZooBinding = "JSONRPC" | "HTTP+JSON";

/** A complete answer of the agent, before the habit changes it. */
export interface Answer {
  readonly rpc: "card" | "SendMessage" | "SendStreamingMessage" | "GetTask" | "ListTasks" | "SubscribeToTask" | "other";
  /** Number of this call of the rpc, from 1. */
  readonly nth: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: Socket;
  readonly status: number;
  readonly type: string;
  readonly text: string;
  /** The JSON of each event of a stream. */
  readonly events: readonly string[];
}

/** Peculiar behaviour of a server. */
export interface Habit {
  /** Answers in place of the agent, before it receives the message. Returns true if it answered. */
  readonly before?: (answer: Omit<Answer, "status" | "type" | "text" | "events">) => boolean;
  readonly write?: (answer: Answer) => unknown;
  readonly card?: (card: Record<string, unknown>, url: string) => object;
  readonly execute?: Agent["execute"];
}

/** A server with a habit, and a count of the messages that were sent to it. */
export interface Zoo {
  readonly url: string;
  readonly sends: () => number;
}

const rpcOf = (method: string, path: string, body: string): Answer["rpc"] => {
  if (path.endsWith("agent-card.json")) return "card";
  const named = /"method":"(\w+)"/.exec(body)?.[1];
  if (named !== undefined) return named as Answer["rpc"];
  if (path.includes("message:send")) return "SendMessage";
  if (path.includes("message:stream")) return "SendStreamingMessage";
  if (path.includes(":subscribe")) return "SubscribeToTask";
  if (method !== "GET") return "other";
  return /\/tasks\/[^/?]+/.test(path) ? "GetTask" : "ListTasks";
};

/** Writes an answer in the usual form. */
export function plainly({ response, status, type, text }: Answer): void {
  response.writeHead(status, { "content-type": type }).end(text);
}

/** Writes an answer with another text, type or status. */
export const rewritten =
  (change: (answer: Answer) => { text?: string; type?: string; status?: number }) =>
  (answer: Answer): void =>
    plainly({ ...answer, ...change(answer) });

/** Serves an agent without extensions over one binding with the habit. */
export async function zooServer(binding: ZooBinding, habit: Habit): Promise<Zoo> {
  const counts = new Map<string, number>();
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const path = request.url ?? "/";
    const rpc = rpcOf(request.method ?? "GET", path, body.toString());
    const nth = (counts.get(rpc) ?? 0) + 1;
    counts.set(rpc, nth);
    const given = { rpc, nth, request, response, socket: request.socket };
    if (habit.before?.(given) === true) return;
    const headers = new Headers(request.headers as Record<string, string>);
    for (const name of ["idempotency-key", "accept-encoding"]) headers.delete(name);
    const method = request.method ?? "GET";
    const answer = await a2a.fetch(
      new Request(`${url}${path}`, { method, headers, body: method === "GET" ? null : body }),
    );
    const said = await answer.text();
    const text = rpc === "card" ? JSON.stringify(cardOf(JSON.parse(said))) : said;
    const events = [...said.matchAll(/^data: (.*)$/gm)].map(([, json]) => json as string);
    const type = answer.headers.get("content-type") ?? "";
    const whole = { ...given, status: answer.status, type, text, events };
    (habit.write ?? plainly)(whole);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cardOf = (card: Record<string, unknown>): object => {
    const supportedInterfaces = [{ protocolBinding: binding, url, protocolVersion: "1.0" }];
    const plain = { ...card, supportedInterfaces, capabilities: { streaming: true } };
    return habit.card?.(plain, url) ?? plain;
  };
  const execute: Agent["execute"] = async function* () {
    yield artifact({ id: "a", text: "well " });
    yield artifact({ id: "a", text: "done", append: true, lastChunk: true });
    yield completed();
  };
  const agent = {
    card: { name: "Zoo", description: "Has a habit.", version: "1.0.0" },
    execute: habit.execute ?? execute,
  };
  const a2a = createA2A({ agent, store: memoryStore(), publicUrl: url, cardGrpc: "omit" });
  atEnd(() => a2a.close({ graceMs: 0 }));
  const sends = (): number => (counts.get("SendMessage") ?? 0) + (counts.get("SendStreamingMessage") ?? 0);
  return { url, sends };
}
