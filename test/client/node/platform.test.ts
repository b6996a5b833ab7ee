import { type Client, createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService, Role, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { completed, working } from "../../../src/agent/event.js";
import { mutualTlsScheme } from "../../../src/auth/index.js";
import { bindings } from "../../../src/client/discovery/interfaces.js";
import { clientError, neverArrived } from "../../../src/client/errors/errors.js";
import { createTransport } from "../../../src/client/index.js";
import { grpcUrl } from "../../../src/client/node/platform.js";
import type { ClientTls } from "../../../src/client/platform.js";
import { A2AError } from "../../../src/core/error.js";
import { createServer, reply, type Server } from "../../../src/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { Certificates } from "../../server/certificates.js";
import { testTls } from "../../server/tls.js";
import { Gates } from "../../support/gates.js";

const certificates = new Certificates();
const known = certificates.make("nightly");
let server: Server;
beforeAll(async () => {
  server = await createServer({
    agent: {
      card: { name: "Certified", description: "Says who calls.", version: "1.0.0" },
      responds: "message",
      security: { schemes: { client: mutualTlsScheme({ scopes: () => ["run"] }) }, require: [{ client: ["run"] }] },
      async *execute({ caller }) {
        yield reply(caller.owner);
      },
    },
    store: memoryStore(),
    host: "127.0.0.1",
    port: 0,
    grpcPort: 0,
    tls: { ...testTls, ca: known.cert },
  });
});
afterAll(async () => {
  await server.close();
  certificates.clean();
});

const message = () => ({
  messageId: crypto.randomUUID(),
  role: Role.USER,
  parts: [{ content: { case: "text" as const, value: "who?" } }],
});

describe.each(bindings.map((binding) => [binding] as const))("%s over TLS, on Node.js", (binding) => {
  /** The answer to a client with these TLS options, or the error. */
  async function said(tls: ClientTls): Promise<string> {
    const url = `https://localhost:${binding === "GRPC" ? server.grpcPort : server.port}`;
    const transport = createTransport(binding, url, { tls });
    const rpc: Client<typeof A2AService> = createClient(A2AService, transport);
    try {
      const { payload } = await rpc.sendMessage({ message: message() });
      return payload.case === "message" ? String(payload.value.parts[0]?.content.value) : "";
    } catch (thrown) {
      const error = clientError(thrown);
      return `${error.reason}${neverArrived(error) ? ", unsent" : ""}`;
    } finally {
      await transport.close();
    }
  }

  it("shows a certificate, and takes only servers that it trusts", async () => {
    expect(await said({ ca: testTls.cert, ...known })).toContain("nightly");
    expect(await said({ ca: testTls.cert })).toBe("UNAUTHENTICATED");
    expect(await said({})).toBe("UNAVAILABLE, unsent");
    expect(await said({ ca: [known.cert] })).toBe("UNAVAILABLE, unsent");
  });
});

describe("many calls over gRPC", () => {
  it("do not wait for streams that are open", async () => {
    const gates = new Gates();
    const one = await createServer({
      agent: {
        card: { name: "Waiting", description: "Waits.", version: "1.0.0" },
        async *execute(turn) {
          yield working();
          if (turn.text === "wait") await gates.pass("all", turn.signal);
          yield completed();
        },
      },
      store: memoryStore(),
      host: "127.0.0.1",
      port: 0,
      grpcPort: 0,
    });
    const transport = createTransport("GRPC", `127.0.0.1:${one.grpcPort}`);
    const rpc = createClient(A2AService, transport);
    const stop = new AbortController();
    const streams = Array.from({ length: 300 }, () => {
      const parts = [{ content: { case: "text" as const, value: "wait" } }];
      const stream = rpc.sendStreamingMessage({ message: { ...message(), parts } }, { signal: stop.signal });
      return stream[Symbol.asyncIterator]();
    });
    await Promise.all(streams.map((stream) => stream.next()));
    const { payload } = await rpc.sendMessage({ message: message() });
    expect(payload.case === "task" && payload.value.status?.state).toBe(TaskState.COMPLETED);
    stop.abort();
    const ends = await Promise.allSettled(streams.map((stream) => stream.next()));
    expect(ends.map(({ status }) => status)).toContain("rejected");
    gates.open("all");
    await transport.close();
    await one.close({ graceMs: 0 });
  }, 60_000);
});

describe("grpcUrl()", () => {
  it.each([
    ["127.0.0.1:50051", undefined, "http://127.0.0.1:50051"],
    ["localhost:50051", undefined, "http://localhost:50051"],
    ["[::1]:50051", undefined, "http://[::1]:50051"],
    ["agent.example:50051", undefined, "https://agent.example:50051"],
    ["agent.example:50051", true, "http://agent.example:50051"],
    ["localhost:50051", false, "https://localhost:50051"],
    ["dns:///agent.example:443", undefined, "https://agent.example"],
    ["dns:agent.example:8443", undefined, "https://agent.example:8443"],
    ["http://agent.example:50051", undefined, "http://agent.example:50051"],
    ["https://agent.example/base/", undefined, "https://agent.example/base/"],
    ["grpc://agent.example:50051", undefined, "http://agent.example:50051"],
    ["grpcs://agent.example:50051", undefined, "https://agent.example:50051"],
  ])("takes %s (%s) for %s", (address, plaintext, url) => {
    expect(grpcUrl(address, plaintext)).toBe(url);
  });

  it.each(["", "unix:///run/agent.sock", "ftp://agent.example", "xds:///agent", "http://"])("refuses %j", (address) => {
    expect(() => grpcUrl(address)).toThrow(A2AError);
  });
});
