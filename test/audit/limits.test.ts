import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { arriving } from "../../src/http/inbound-budget.js";
import { type AuditRecord, createServer, type Server, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { setConstants } from "../support/constants.js";
import { bindings, grpcHttp } from "../support/drivers.js";

/** Limits that apply before a request becomes a call, and hosts that a request may not name. */

const records: AuditRecord[] = [];
let server: Server | undefined;
afterEach(async () => {
  await server?.close({ graceMs: 0 });
  records.splice(0);
});

async function serve(options: Partial<ServerOptions>): Promise<Server> {
  server = await createServer({
    agent: obedient("limited"),
    store: memoryStore(),
    audit: { write: (record) => void records.push(record) },
    port: 0,
    grpcPort: 0,
    ...options,
  } as ServerOptions);
  return server;
}

const told = (): Partial<AuditRecord>[] =>
  records
    .filter(({ event }) => !event.startsWith("server."))
    .map(({ event, outcome, limit, reason, address }) => ({
      event,
      outcome,
      ...(limit !== undefined && { limit }),
      ...(limit === undefined && reason !== undefined && { reason }),
      ...(address !== undefined && { address }),
    }));

const hit = (limit: string) => ({ event: "limit.hit", outcome: "denied", limit, address: "127.0.0.1" });
const large = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x".repeat(5_000) }] } };

describe.each([...bindings, grpcHttp])("a request over $name", (binding) => {
  const call = async (options: Partial<ServerOptions>, request: object): Promise<void> => {
    const { port, grpcPort = 0 } = await serve(options);
    const driver = binding.connect({ url: `http://127.0.0.1:${port}`, grpcPort });
    const { error } = await driver.call("SendMessage", request as never);
    expect(error).toBeDefined();
    driver.close();
  };

  it("that is too large is a limit that was hit", async () => {
    await call({ limits: { maxRequestBytes: 1_000 } }, large);
    // Connect's library answers some gRPC clients, and its error does not name the limit.
    await expect.poll(told).toMatchObject([{ event: "limit.hit", address: "127.0.0.1" }]);
    if (binding.name !== "grpc-web" && binding.name !== "grpc-http") expect(told()).toEqual([hit("maxRequestBytes")]);
  });

  it("that is refused within the call is one too, once", async () => {
    await call({ limits: { maxMessageBytes: 1_000 } }, large);
    expect(told()).toMatchObject([{ event: "limit.hit", address: "127.0.0.1" }]);
  });
});

describe("a server", () => {
  it("tells of too many connections, on both ports", async () => {
    const { port, grpcPort = 0 } = await serve({ limits: { maxConnectionsPerAddress: 1 } });
    const first = connect(port, "127.0.0.1");
    await once(first, "connect");
    for (const each of [port, grpcPort]) {
      const socket = connect(each, "127.0.0.1");
      socket.on("error", () => {});
      await once(socket, "close");
    }
    first.destroy();
    expect(told()).toEqual([hit("maxConnectionsPerAddress"), hit("maxConnectionsPerAddress")]);
  });

  it("tells of requests that arrive for too long, on both ports", async () => {
    setConstants(arriving, { maxPerAddress: 1 });
    const { port, grpcPort = 0 } = await serve({});
    const heads = {
      [port]: { ":path": "/message:send", "content-type": "application/json" },
      [grpcPort]: { ":path": "/lf.a2a.v1.A2AService/SendMessage", "content-type": "application/grpc", te: "trailers" },
    };
    for (const [each, head] of Object.entries(heads)) {
      records.splice(0);
      const session = connectHttp2(`http://127.0.0.1:${each}`);
      session.on("error", () => {});
      for (let i = 0; i < 2; i++) {
        const stream = session.request({ ":method": "POST", ...head });
        stream.on("error", () => {});
        stream.write("{");
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await expect.poll(told).toEqual([hit("maxArrivingPerAddress")]);
      session.destroy();
    }
  });

  it("tells of hosts that it does not serve", async () => {
    const { port } = await serve({});
    const socket = connect(port, "127.0.0.1");
    socket.write("GET /tasks HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    socket.resume();
    await once(socket, "close");
    expect(told()).toEqual([
      { event: "access.denied", outcome: "denied", reason: "HOST_NOT_ALLOWED", address: "127.0.0.1" },
    ]);
  });
});
