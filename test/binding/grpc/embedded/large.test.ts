import { once } from "node:events";
import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { StreamResponseSchema, TaskSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { defaultLimits } from "../../../../src/core/limits.js";
import { slowReader } from "../../../../src/http/response.js";
import { mark } from "../../../../src/wire/marks.js";
import { setConstants } from "../../../support/constants.js";
import {
  callStream,
  callUnary,
  drainStream,
  lazyCall,
  requestFor,
  serveEmbedded,
  settled,
  streaming,
  taskEvent,
  unary,
  until,
} from "../support.js";

const text = "x".repeat(1_000_000);
const task = create(TaskSchema, { id: "t", metadata: { text } });
const small = { text: text.slice(0, 16_384) };
const weight = { bytes: text.length, source: task };

describe("a large answer of a server of grpc-js", () => {
  it("counts until its reader has it", async () => {
    const seen = { written: 0 };
    const { client, port } = await serveEmbedded(({ call }) => {
      call.written = () => seen.written++;
      return mark({ ...task }, { weight });
    });
    const lazy = lazyCall(port, unary);
    await settled(() => seen.written);
    expect(seen.written).toBe(0);
    lazy.resume();
    await until(() => seen.written === 1);
    const { error, value } = await callUnary(client, requestFor("t"));
    expect(error).toBeNull();
    expect(value?.length).toBeGreaterThan(text.length);
    await until(() => seen.written === 2);
  });

  it("counts until its reader is gone", async () => {
    const seen = { called: 0, written: 0 };
    const { port } = await serveEmbedded(({ call }) => {
      seen.called++;
      call.written = () => seen.written++;
      return mark({ ...task }, { weight });
    });
    const lazy = lazyCall(port, unary);
    await until(() => seen.called === 1);
    lazy.close();
    await until(() => seen.written === 1);
  });

  it("holds up its stream until it was read", async () => {
    const seen = { asked: 0 };
    const { client, port } = await serveEmbedded(async function* () {
      for (const id of ["0", "1", "2"]) {
        seen.asked++;
        yield mark(create(StreamResponseSchema, { payload: { case: "task", value: { ...task, id } } }), { weight });
      }
      yield taskEvent("3");
    });
    const lazy = lazyCall(port, streaming);
    await until(() => seen.asked === 1);
    expect(await settled(() => seen.asked)).toBe(1);
    lazy.resume();
    await until(() => seen.asked === 3);
    expect(await drainStream(callStream(client))).toEqual({ ids: ["0", "1", "2", "3"], error: undefined });
  });

  it("fails above maxGrpcAnswerBytes", async () => {
    const limits = { ...defaultLimits, maxGrpcAnswerBytes: 500_000 };
    const { client } = await serveEmbedded(() => mark({ ...task }, { weight }), { limits });
    expect((await callUnary(client, requestFor("t"))).error?.code).toBe(status.RESOURCE_EXHAUSTED);
  });
});

describe("a stream of a server of grpc-js", () => {
  it("ends when its reader takes no more", async () => {
    setConstants(slowReader, { timeoutMs: 100 });
    const seen = { left: false };
    const { port } = await serveEmbedded(async function* () {
      try {
        for (;;) yield create(StreamResponseSchema, { payload: { case: "task", value: { ...task, metadata: small } } });
      } finally {
        seen.left = true;
      }
    });
    const lazy = lazyCall(port, streaming);
    const trailers = once(lazy, "trailers");
    await until(() => seen.left);
    lazy.resume();
    const [headers] = await trailers;
    expect(headers).toMatchObject({ "grpc-status": `${status.CANCELLED}` });
  });
});
