import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { StreamResponseSchema, TaskSchema, TaskState } from "../../../gen/a2a/v1/a2a_pb.js";
import { atEnd, connect } from "../world.js";

/** A gRPC server of A2A 0.3, with the codes of streams that the client canceled. */
interface OlderServer {
  readonly card: object;
  readonly canceled: readonly number[];
}

const NO_ERROR = 0;
const CANCEL = 8;
const PROTOCOL_ERROR = 1;

const status = { state: TaskState.COMPLETED };

/** Writes a message in its envelope. */
function write<D extends DescMessage>(stream: ServerHttp2Stream, desc: D, init: MessageInitShape<D>): void {
  const bytes = toBinary(desc, create(desc, init));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  stream.write(Buffer.concat([head, bytes]));
}

/**
 * Starts a server that ends the connection with an error when a stream is canceled, as servers on Vert.x do.
 *
 * @param endMs time from the last event of a stream to its end; undefined for a stream that never ends
 */
async function older(endMs: number | undefined): Promise<OlderServer> {
  const canceled: number[] = [];
  const server = createServer();
  server.on("stream", (stream, { ":path": path }) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.on("error", () => {});
    stream.on("close", () => {
      if (stream.rstCode === NO_ERROR) return;
      canceled.push(stream.rstCode);
      stream.session?.goaway(PROTOCOL_ERROR, 2 ** 31 - 1);
    });
    if (path?.endsWith("/GetTask")) {
      write(stream, TaskSchema, { id: "t", contextId: "c", status });
      stream.end();
      return;
    }
    write(stream, StreamResponseSchema, { payload: { case: "task", value: { id: "t", contextId: "c" } } });
    const last = { taskId: "t", contextId: "c", status, final: true };
    write(stream, StreamResponseSchema, { payload: { case: "statusUpdate", value: last } });
    if (endMs !== undefined) setTimeout(() => stream.end(), endMs);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => server.close());
  const url = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const card = {
    name: "Older",
    description: "",
    version: "1",
    supportedInterfaces: [{ url, protocolBinding: "GRPC", protocolVersion: "0.3" }],
    capabilities: { streaming: true },
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
  };
  return { card, canceled };
}

describe("a stream of A2A 0.3 over gRPC", () => {
  it("is not canceled after its last event while the server ends it", async () => {
    const { card, canceled } = await older(30);
    const client = await connect(card);
    const states: unknown[] = [];
    for await (const { task } of client.stream("go")) states.push(task?.status?.state);
    expect(states).toEqual([undefined, TaskState.COMPLETED]);
    const { id } = await client.getTask({ id: "t" });
    expect([id, canceled]).toEqual(["t", []]);
  });

  it("is canceled a second after its last event when the server does not end it", async () => {
    const { card, canceled } = await older(undefined);
    const client = await connect(card);
    const startedAt = performance.now();
    for await (const _ of client.stream("go"));
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    await expect.poll(() => canceled).toEqual([CANCEL]);
  });
});
