import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import type { Turn } from "../../src/agent/agent.js";
import { type AgentEvent, artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import { apiKeyScheme } from "../../src/auth/index.js";
import { createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { bearer, operators, tokens } from "./world.js";

export type Operator = Client<typeof AdminService>;

/** Clients for the tests of operations, over two bindings. */
export const clients: Readonly<Record<"connect" | "grpc", (address: string) => Operator>> = {
  connect: (address) => clientOf(createConnectTransport({ ...optionsOf(address), httpVersion: "1.1" })),
  grpc: (address) => clientOf(createGrpcTransport(optionsOf(address))),
};

function clientOf(transport: Transport): Operator {
  return createClient(AdminService, transport);
}

function optionsOf(address: string): { readonly baseUrl: string; readonly interceptors: Interceptor[] } {
  return {
    baseUrl: `http://${address}`,
    interceptors: [
      (next) => (request) => {
        for (const [name, value] of Object.entries(bearer(tokens.write))) request.header.set(name, value);
        return next(request);
      },
    ],
  };
}

export const stores: Readonly<Record<"memory" | "sqlite", () => TaskStore>> = {
  memory: () => memoryStore(),
  sqlite: () => sqliteStore(join(mkdtempSync(join(tmpdir(), "parley-admin-")), "tasks.db")),
};

const keys = ["alice", "bob"].map((owner) => ({ owner, key: `key-of-${owner}` }));

/** Causes with which turns were aborted, by the text of their messages. */
export class Agents {
  readonly aborted = new Map<string, unknown>();
  /** Lets the agents of `hang` continue after their tasks have ended. */
  release: () => void = () => {};
  readonly #released = new Promise<void>((resolve) => {
    this.release = resolve;
  });

  async *execute(turn: Turn): AsyncGenerator<AgentEvent> {
    const [command = "", rest = ""] = turn.text.split(/ (.*)/);
    turn.signal.addEventListener("abort", () => this.aborted.set(turn.text, (turn.signal.reason as Error).cause));
    if (command === "say") {
      yield working();
      await turn.step("look", () => rest.length);
      for (const piece of rest.match(/.{1,4}/g) ?? []) yield artifact({ name: "said", text: piece, append: true });
      yield completed();
    }
    if (command === "fill") {
      yield artifact({ name: "facts", data: { sum: 4711, of: ["Ä", rest] } });
      for (let i = 0; i < Number(rest); i++) yield artifact({ name: "filling", text: "x".repeat(1024 * 1024) });
      yield completed();
    }
    if (command === "ask") yield inputRequired(`What about ${rest}?`);
    if (command === "hang" || command === "wait") {
      yield working("It begins.");
      if (command === "hang") await this.#released;
      else await new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
      yield artifact({ name: "late", text: "too late" });
    }
  }
}

export interface TaskWorld {
  readonly server: Server;
  readonly agents: Agents;
  readonly address: string;
  /** Sends a message and returns the id of its task, which may still run. */
  send(owner: "alice" | "bob", text: string, more?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

export async function openTasks(store: TaskStore, limits: Record<string, number> = {}): Promise<TaskWorld> {
  const agents = new Agents();
  const server = await createServer({
    agent: {
      card: {
        name: "talker",
        description: "Talks.",
        version: "1",
        skills: [{ id: "talk", name: "Talk", description: "Talks.", tags: ["talk"] }],
      },
      execute: (turn: Turn) => agents.execute(turn),
      security: { schemes: { key: apiKeyScheme({ in: "header", name: "X-Key", keys }) } },
    },
    store,
    port: 0,
    grpcPort: 0,
    leaseMs: 2_000,
    limits: { cancelGraceMs: 100, shutdownGraceMs: 50, ...limits },
    admin: { listen: "127.0.0.1:0", tokens: operators },
  } as never);
  return {
    server,
    agents,
    address: server.adminUrl?.replace("http://", "") ?? "",
    send: (owner, text, more) => send(server, owner, text, more),
    async close() {
      agents.release();
      await server.close();
    },
  };
}

async function send(server: Server, owner: string, text: string, more: Record<string, unknown> = {}): Promise<string> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more };
  const configuration = { returnImmediately: !/^(say|ask|fill)/.test(text) };
  const answer = await fetch(`http://127.0.0.1:${server.port}/message:send`, {
    method: "POST",
    headers: { "x-key": `key-of-${owner}`, "a2a-version": "1.0", "content-type": "application/json" },
    body: JSON.stringify({ message, configuration }),
  });
  const body = (await answer.json()) as { task?: { id?: string } };
  if (body.task?.id === undefined) throw new Error(JSON.stringify(body));
  return body.task.id;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly nextPageToken: string;
}

/** Reads a list in pages of one item. Fails if a page before the last one has none, or if the pages do not end. */
export async function pagesOf<T>(
  read: (page: { readonly pageSize: number; readonly pageToken: string }) => Promise<Page<T>>,
): Promise<T[]> {
  const all: T[] = [];
  for (let pageToken = ""; ; ) {
    const { items, nextPageToken } = await read({ pageSize: 1, pageToken });
    if (items.length > 1 || (items.length === 0 && nextPageToken !== ""))
      throw new Error(`A page has ${items.length} items.`);
    all.push(...items);
    if (nextPageToken === "") return all;
    if (all.length > 1_000) throw new Error("The pages do not end.");
    pageToken = nextPageToken;
  }
}
