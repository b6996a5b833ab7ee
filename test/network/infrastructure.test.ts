import * as http2 from "node:http2";
import { Client, credentials, type MethodDefinition, type ServiceError, status } from "@grpc/grpc-js";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { healthService as health, reflectionVersions } from "../support/grpc-services.js";
import { connect, http1, http2Client } from "./raw-http.js";
import { envelope } from "./requests.js";
import { cleanup, type Served, serve, until } from "./serve.js";

vi.setConfig({ testTimeout: 30_000 });

function clientOf(port: number): Client {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  cleanup(() => client.close());
  return client;
}

function check(client: Client, service: string): Promise<string | number> {
  const method = health.Check;
  return new Promise((resolve) => {
    const done = (error: ServiceError | null, value?: { status?: string }): void =>
      resolve(error?.code ?? value?.status ?? "nothing");
    client.makeUnaryRequest(method.path, method.requestSerialize, method.responseDeserialize, { service }, done);
  });
}

/** Asks several questions on one stream, each when the one before has its answer. */
async function ask(
  client: Client,
  method: MethodDefinition<object, object>,
  questions: readonly object[],
): Promise<object[]> {
  const stream = client.makeBidiStreamRequest(method.path, method.requestSerialize, method.responseDeserialize);
  const answers: object[] = [];
  for (const question of questions) {
    stream.write(question);
    answers.push(await new Promise<object>((resolve, reject) => stream.once("data", resolve).once("error", reject)));
    stream.removeAllListeners("error");
  }
  const ended = new Promise<void>((resolve, reject) => stream.once("end", resolve).once("error", reject));
  stream.resume().end();
  await ended;
  return answers;
}

describe.each([["port"], ["grpcPort"]] as const)("health and reflection, on the %s", (port) => {
  it.each(reflectionVersions)("are described by %s", async (_name, method) => {
    const served = await serve();
    const [list, file, none] = await ask(clientOf(served[port]), method, [
      { listServices: "*" },
      { fileContainingSymbol: A2AService.typeName },
      { fileContainingSymbol: "no.such.Service" },
    ]);
    const { service } = (list as { listServicesResponse: { service: { name: string }[] } }).listServicesResponse;
    expect(service.map(({ name }) => name).toSorted()).toEqual([
      "a2a.v1.A2AService",
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      A2AService.typeName,
    ]);
    expect(file).toHaveProperty("fileDescriptorResponse");
    expect(none).toMatchObject({ errorResponse: { errorCode: status.NOT_FOUND } });
    await quiet(served);
  });

  it.each(reflectionVersions)("are not described by %s where that is switched off", async (_name, method) => {
    const served = await serve({ reflection: false });
    const asked = ask(clientOf(served[port]), method, [{ listServices: "*" }]);
    await expect(asked).rejects.toMatchObject({ code: status.UNIMPLEMENTED });
    expect(await check(clientOf(served[port]), "")).toBe("SERVING");
    await quiet(served);
  });

  it("say how the server is", async () => {
    const served = await serve();
    const client = clientOf(served[port]);
    for (const service of ["", A2AService.typeName]) expect(await check(client, service)).toBe("SERVING");
    expect(await check(client, "other")).toBe(status.NOT_FOUND);
    const { path, requestSerialize, responseDeserialize } = health.Watch;
    const watch = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service: "" });
    const seen: string[] = [];
    watch.on("data", (value: { status: string }) => seen.push(value.status)).on("error", () => {});
    await until(() => seen.length === 1);
    await quiet(served);
    // Watchers hear of the end, and do not hold it up.
    await until(() => seen.length === 2);
    expect(seen).toEqual(["SERVING", "NOT_SERVING"]);
  });
});

describe("health on the HTTP port", () => {
  it("is asked with curl as well", async () => {
    const served = await serve({ grpcPort: false });
    const answer = await http1(served.port)({
      path: "/grpc.health.v1.Health/Check",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(JSON.parse(answer.body.toString())).toEqual({ status: "SERVING" });
    await quiet(served);
  });
});

describe.each([["port"], ["grpcPort"]] as const)("a call of gRPC to what is not served, on the %s", (port) => {
  const paths = ["/no.such.Service/Method", `/${A2AService.typeName}/NoSuchMethod`, "/nothing"];

  it.each(paths)("is UNIMPLEMENTED, in one HEADERS frame that ends the stream: %s", async (path) => {
    const served = await serve();
    const session = connect(served[port]);
    const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
    const stream = session.request(headers).on("error", () => {});
    stream.end(envelope(Buffer.alloc(0)));
    const [answer, flags] = await new Promise<[http2.IncomingHttpHeaders, number]>((resolve) =>
      stream.once("response", (head, flags) => resolve([head, flags])),
    );
    expect(answer).toMatchObject({ ":status": 200, "grpc-status": `${status.UNIMPLEMENTED}` });
    expect(flags & http2.constants.NGHTTP2_FLAG_END_STREAM).toBe(http2.constants.NGHTTP2_FLAG_END_STREAM);
    const again = await http2Client(served[port])({
      path,
      headers: { "content-type": "application/grpc", te: "trailers" },
    });
    expect(again.headers["grpc-status"]).toBe(`${status.UNIMPLEMENTED}`);
    await quiet(served);
  });
});

async function quiet(served: Served): Promise<void> {
  expect(served.errors()).toEqual([]);
  await served.server.close();
}
