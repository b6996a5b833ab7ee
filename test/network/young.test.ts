import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { ClientHttp2Session, OutgoingHttpHeaders } from "node:http2";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { bundle } from "../support/writer-thread.js";
import { connect } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf } from "./serve.js";

vi.setConfig({ testTimeout: 120_000 });

/** Calls on one connection, and how many of them at a time. */
const CALLS = 3_000;
const AT_ONCE = 10;

/**
 * Maximum bytes per call that only a full collection frees. A call allocates about 20 KB. The strings of its headers
 * are old at once, and code that the server compiles meanwhile counts too.
 */
const MOST_KEPT = 1_200;

interface Ports {
  readonly port: number;
  readonly grpcPort: number;
}

/** A server that collects its young garbage only when it is asked to. */
async function start(): Promise<{ readonly child: ChildProcess; readonly ports: Ports }> {
  const script = fileURLToPath(bundle("calls-server.js"));
  const execArgv = ["--expose-gc", "--min-semi-space-size=128", "--max-semi-space-size=128"];
  const child = fork(script, [], { execArgv });
  cleanup(() => child.kill("SIGKILL"));
  const [ports] = (await once(child, "message")) as [Ports];
  return { child, ports };
}

/** Bytes of the heap after a collection. */
async function heapAfter(child: ChildProcess, which: "young" | "all"): Promise<number> {
  child.send(which);
  return (await once(child, "message"))[0] as number;
}

async function call(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body: Uint8Array): Promise<void> {
  const stream = session.request({ ":method": "POST", ...headers });
  stream.end(body);
  stream.resume();
  await once(stream, "end");
}

async function calls(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body: Uint8Array): Promise<void> {
  let begun = 0;
  const caller = async (): Promise<void> => {
    while (begun++ < CALLS) await call(session, headers, body);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
}

describe("a connection of HTTP/2 that lives as long as many calls", () => {
  const grpcHeaders = {
    ":path": `/${A2AService.typeName}/SendMessage`,
    "content-type": "application/grpc",
    te: "trailers",
  };
  const restHeaders = { ":path": "/message:send", "content-type": "application/json" };
  const request = messageOf("hello");
  it.each([
    ["gRPC", "grpcPort", grpcHeaders, envelope(bytesOf({ rpc: "SendMessage", request: request as never }))],
    ["HTTP", "port", restHeaders, Buffer.from(JSON.stringify(request))],
  ] as const)("keeps nothing of those that are over on the %s port", async (_, at, headers, body) => {
    const { child, ports } = await start();
    const session = connect(ports[at]);
    // The first calls make the compiled code, the caches and the connection old.
    await calls(session, headers, body);
    const before = await heapAfter(child, "all");
    await calls(session, headers, body);
    const kept = (await heapAfter(child, "young")) - before;
    expect(kept / CALLS).toBeLessThan(MOST_KEPT);
  });
});
