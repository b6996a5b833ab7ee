import { createServer } from "node:net";
import { create } from "@bufbuild/protobuf";
import { Client, credentials, type ServiceError, status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { A2AService, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { testTls } from "../../server/tls.js";
import { healthService } from "../../support/grpc-services.js";
import {
  callStream,
  callUnary,
  cleanup,
  clientOf,
  drainStream,
  requestFor,
  serve,
  taskEvent,
  until,
} from "./support.js";

const task = create(TaskSchema, { id: "t-1" });

/** The status that the health service reports, or the code of its error. */
function check(client: Client, service: string): Promise<string | number> {
  const method = healthService.Check;
  return new Promise((resolve) => {
    const done = (error: ServiceError | null, value?: object): void => {
      resolve(error?.code ?? (value as { status: string }).status);
    };
    client.makeUnaryRequest(method.path, method.requestSerialize, method.responseDeserialize, { service }, done);
  });
}

function watch(client: Client, service: string) {
  const method = healthService.Watch;
  const { path, requestSerialize, responseDeserialize } = method;
  const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service });
  const seen: string[] = [];
  const ended = new Promise<void>((resolve) => stream.on("end", resolve));
  stream.on("data", (value: { status: string }) => seen.push(value.status));
  stream.on("error", () => {});
  return { seen, ended };
}

describe("createGrpcServer()", () => {
  it("says clearly that a port is in use", async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve));
    cleanup(() => blocker.close());
    const address = blocker.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await expect(serve(() => task, { port })).rejects.toMatchObject({
      message: `The gRPC server cannot listen on 127.0.0.1:${port}: the port is in use.`,
      code: "EADDRINUSE",
    });
  });

  it("listens on IPv6", async () => {
    const { port } = await serve(() => task, { host: "::1" });
    const client = new Client(`[::1]:${port}`, credentials.createInsecure());
    cleanup(() => client.close());
    expect((await callUnary(client, requestFor("t-1"))).error).toBeNull();
  });

  it("speaks TLS, and tells the calls so (SRV-GRPC-01)", async () => {
    const seen: boolean[] = [];
    const { port } = await serve(
      ({ call }) => {
        seen.push(call.peer.encrypted);
        return task;
      },
      { tls: testTls },
    );
    const secure = clientOf(port, credentials.createSsl(Buffer.from(testTls.cert)));
    expect((await callUnary(secure, requestFor("t-1"))).error).toBeNull();
    expect(seen).toEqual([true]);
  });

  it("serves the health service for the server and its service, and nothing else", async () => {
    const { client, server } = await serve(() => task);
    for (const service of ["", A2AService.typeName]) expect(await check(client, service)).toBe("SERVING");
    expect(await check(client, "other")).toBe(status.NOT_FOUND);
    server.setServing(false);
    for (const service of ["", A2AService.typeName]) expect(await check(client, service)).toBe("NOT_SERVING");
    server.setServing(true);
    expect(await check(client, "")).toBe("SERVING");
  });

  it("tells watchers that it drains, and does not wait for them", async () => {
    const { client, server } = await serve(() => task);
    const { seen, ended } = watch(client, A2AService.typeName);
    await until(() => seen.length === 1);
    // A grace period of an hour, far longer than the test may take.
    await server.drain(3_600_000);
    await ended;
    expect(seen).toEqual(["SERVING", "NOT_SERVING"]);
  });

  it("lets open calls end when it drains, and takes no new ones", async () => {
    let go = (): void => {};
    const held = new Promise<void>((resolve) => {
      go = resolve;
    });
    const { client, port, server, lines } = await serve(async function* () {
      yield taskEvent("0");
      await held;
      yield taskEvent("1");
    });
    const stream = callStream(client);
    const result = drainStream(stream);
    await new Promise((resolve) => stream.once("data", resolve));
    const drained = server.drain(3_600_000);
    expect(server.drain(3_600_000)).toBe(drained);
    const late = await callUnary(clientOf(port), requestFor("t-1"), { deadline: Date.now() + 300 });
    expect(late.error).not.toBeNull();
    go();
    await drained;
    expect(await result).toEqual({ ids: ["0", "1"], error: undefined });
    expect(lines).toEqual([]);
  });

  it("breaks off what has not ended when the time to drain is over", async () => {
    const signals: AbortSignal[] = [];
    const { client, server, lines } = await serve(async function* ({ call }) {
      signals.push(call.signal);
      yield taskEvent("0");
      await new Promise(() => {});
    });
    const result = drainStream(callStream(client));
    await until(() => signals.length === 1);
    await server.drain(100);
    expect((await result).error).toBeDefined();
    await until(() => signals[0]?.aborted === true);
    expect(lines).toMatchObject([{ level: "warn", facts: { graceMs: 100 } }]);
  });
});
