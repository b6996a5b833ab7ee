import { createServer } from "node:http";
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from "node:net";
import { type Metadata, Server, ServerCredentials, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { artifact, completed } from "../../../src/agent/event.js";
import { type Agent, createA2A } from "../../../src/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { atEnd } from "../world.js";
import type { Zoo } from "./zoo-server.js";

/** Peculiar behaviour of a gRPC server. */
export interface GrpcHabit {
  readonly execute?: Agent["execute"];
  /** Cuts the connection instead of answering a send that the agent has received. */
  readonly losesAnswers?: boolean;
  /** Rpcs that the server does not implement. */
  readonly lacks?: readonly string[];
}

interface Call {
  readonly metadata: Metadata;
  readonly write?: unknown;
  readonly end?: unknown;
}

type Answered = (...answer: readonly unknown[]) => void;

const listening = async (server: { listen(port: number, host: string, done: () => void): unknown }): Promise<void> =>
  new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

/** Serves an agent without extensions over grpc-js with the habit, and its card over HTTP. */
export async function grpcZoo({ execute, losesAnswers = false, lacks = [] }: GrpcHabit): Promise<Zoo> {
  const said: Agent["execute"] = async function* () {
    yield artifact({ id: "a", text: "well " });
    yield artifact({ id: "a", text: "done", append: true, lastChunk: true });
    yield completed();
  };
  const agent = {
    card: { name: "Zoo", description: "Has a habit.", version: "1.0.0" },
    execute: execute ?? said,
  };
  const a2a = createA2A({ agent, store: memoryStore(), publicUrl: "http://127.0.0.1" });
  atEnd(() => a2a.close({ graceMs: 0 }));
  let sends = 0;
  const sockets = new Set<Socket>();
  const cut: Answered = () => {
    for (const socket of sockets) socket.destroy();
  };
  const handlers = Object.entries(a2a.grpc.implementation).filter(([name]) => !lacks.includes(name));
  const server = new Server();
  server.addService(
    a2a.grpc.definition,
    Object.fromEntries(
      handlers.map(([name, handler]) => [
        name,
        (call: Call, answered: Answered) => {
          const isSend = /^Send/.test(name);
          if (isSend) sends++;
          call.metadata.remove("idempotency-key");
          const loses = losesAnswers && isSend;
          if (loses && call.write !== undefined) Object.assign(call, { write: () => true, end: cut });
          handler(call, loses ? cut : answered);
        },
      ]),
    ) as UntypedServiceImplementation,
  );
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  atEnd(() => server.forceShutdown());
  // A TCP server in front of it makes it possible to cut connections.
  const front = createTcpServer((socket) => {
    const back = connectTcp(port, "127.0.0.1");
    sockets.add(socket);
    for (const [from, to] of [
      [socket, back],
      [back, socket],
    ] as const) {
      from.on("error", () => {}).once("close", () => to.destroy());
      from.pipe(to);
    }
    socket.once("close", () => sockets.delete(socket));
  });
  await listening(front);
  atEnd(() => {
    cut();
    front.close();
  });
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const card = JSON.stringify({
    ...agent.card,
    supportedInterfaces: [{ protocolBinding: "GRPC", url, protocolVersion: "1.0" }],
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "zoo", name: "Zoo", description: "Has a habit.", tags: [] }],
  });
  const cards = createServer((_, response) => response.setHeader("content-type", "application/json").end(card));
  await listening(cards);
  atEnd(() => cards.close().closeAllConnections());
  return { url: `http://127.0.0.1:${(cards.address() as AddressInfo).port}`, sends: () => sends };
}
