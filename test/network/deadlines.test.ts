import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { connect as connectJudge, grpc, grpcWeb, type Judge } from "./answers.js";
import { http1, http2Client, type Send } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { messageOf, type Served, serve } from "./serve.js";

vi.setConfig({ testTimeout: 30_000 });

interface Wire {
  readonly name: string;
  readonly send: (served: Served) => Send;
  readonly type: string;
  readonly judge: Judge;
  readonly invalid: number | string;
  readonly late: number | string;
}

const h1 = ({ port }: Served): Send => http1(port);
const ofGrpc = { invalid: 3, late: 4 };
const ofConnect = { judge: connectJudge, invalid: "invalid_argument", late: "deadline_exceeded" };
const wires: readonly Wire[] = [
  { name: "gRPC", send: ({ grpcPort }) => http2Client(grpcPort), type: "application/grpc", judge: grpc, ...ofGrpc },
  {
    name: "gRPC on the HTTP port",
    send: ({ port }) => http2Client(port),
    type: "application/grpc",
    judge: grpc,
    ...ofGrpc,
  },
  { name: "gRPC-Web", send: h1, type: "application/grpc-web", judge: grpcWeb, ...ofGrpc },
  { name: "Connect", send: h1, type: "application/json", ...ofConnect },
  { name: "a stream of Connect", send: h1, type: "application/connect+json", ...ofConnect },
];

const json = JSON.stringify(messageOf("hello"));
const values = {
  grpc: { late: ["0S", "0n", "00000000H"], endless: ["99999999H", "720H", "597H"], rest: ["5S", "99999999n", "1H"] },
  connect: { late: ["0", "000"], endless: ["9999999999", "2147483648"], rest: ["5000", "2147483647"] },
};
const malformed = {
  grpc: ["-5S", "x", "5", "S", "1.5S", "123456789S", "5 S", "5S,5S", "+5S", "5s", ""],
  connect: ["-1", "x", "1.5", "12345678901", "1e3", "0x1", "+5", "5,5", ""],
};

describe.each(wires)("the time that a client gives a call over $name", ({ send: of, type, judge, invalid, late }) => {
  const kind = type.includes("grpc") ? "grpc" : "connect";
  const rpc = type.includes("connect+") ? "SendStreamingMessage" : "SendMessage";
  const ask = async (served: Served, timeout: string): Promise<unknown> => {
    const body = kind === "grpc" ? envelope(bytesOf({ rpc, request: messageOf("hello") as never })) : json;
    const headers = {
      "content-type": type,
      te: "trailers",
      [kind === "grpc" ? "grpc-timeout" : "connect-timeout-ms"]: timeout,
    };
    const path = `/${A2AService.typeName}/${rpc}`;
    return judge(await of(served)({ path, headers, body: type.includes("+") ? envelope(json) : body }));
  };

  it("has to be well formed", async () => {
    const served = await serve();
    for (const timeout of malformed[kind]) expect([timeout, await ask(served, timeout)]).toEqual([timeout, invalid]);
    expect(await countOf(served)).toBe(0);
  });

  it("has passed when it is none, and nothing is begun", async () => {
    const served = await serve();
    for (const timeout of values[kind].late) expect([timeout, await ask(served, timeout)]).toEqual([timeout, late]);
    expect(await countOf(served)).toBe(0);
  });

  it("may be longer than any timer", async () => {
    const served = await serve();
    for (const timeout of [...values[kind].endless, ...values[kind].rest]) {
      const tiny = timeout.endsWith("n") ? late : undefined;
      expect([undefined, tiny]).toContain(await ask(served, timeout));
    }
    expect(served.errors()).toEqual([]);
  });
});

async function countOf(served: Served): Promise<unknown> {
  const answer = await http1(served.port)({ method: "GET", path: "/tasks" });
  return (JSON.parse(answer.body.toString()) as { totalSize: number }).totalSize;
}
