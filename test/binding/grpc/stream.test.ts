import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { StreamResponseSchema, TaskSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../../src/core/error.js";
import {
  callStream,
  detailsOf,
  drainStream,
  lazyCall,
  servers,
  settled,
  streaming,
  taskEvent,
  until,
} from "./support.js";

const numbers = (n: number): string[] => Array.from({ length: n }, (_, i) => `${i}`);

/** An endless stream of events of 16 KiB. It counts the events that are read, and notes when its reader leaves. */
function endless(signal: AbortSignal) {
  const seen = { made: 0, left: false, signal };
  const events = async function* () {
    try {
      for (;;) {
        const metadata = { filler: "x".repeat(16_384) };
        yield create(StreamResponseSchema, { payload: { case: "task", value: { id: `${seen.made++}`, metadata } } });
      }
    } finally {
      seen.left = true;
    }
  };
  return { seen, events };
}

describe.each(servers)("a stream over gRPC, on %s,", (_name, serve) => {
  it("delivers every message in its order (SRV-STRM-09, SRV-STRM-10, SRV-GRPC-06)", async () => {
    const { client } = await serve(async function* () {
      for (const id of numbers(2_000)) yield taskEvent(id);
    });
    expect(await drainStream(callStream(client))).toEqual({ ids: numbers(2_000), error: undefined });
  });

  it("may be empty", async () => {
    const { client } = await serve(async function* () {});
    expect(await drainStream(callStream(client))).toEqual({ ids: [], error: undefined });
  });

  it("delivers what came before an error, then the error (C18)", async () => {
    const { client, lines } = await serve(async function* ({ call }) {
      call.responseHeaders.set("x-seen", "yes");
      yield* numbers(100).map(taskEvent);
      throw new A2AError("UNAVAILABLE", "Shutting down.", { retryAfterMs: 1_000 });
    });
    const { ids, error } = await drainStream(callStream(client));
    expect(ids).toEqual(numbers(100));
    expect(error).toMatchObject({ code: status.UNAVAILABLE, details: "Shutting down." });
    expect(detailsOf(error).info.reason).toBe("UNAVAILABLE");
    expect(lines).toMatchObject([{ level: "debug", message: "A call was refused." }]);
  });

  it("answers with the error alone when the service refuses at once", async () => {
    const { client } = await serve(() => {
      throw new A2AError("TASK_NOT_FOUND", "No such task.");
    });
    const { ids, error } = await drainStream(callStream(client));
    expect(ids).toEqual([]);
    expect(detailsOf(error)).toMatchObject({ code: status.NOT_FOUND, info: { reason: "TASK_NOT_FOUND" } });
  });

  it("hides and logs an error that nobody foresaw", async () => {
    const { client, lines } = await serve(async function* () {
      yield taskEvent("0");
      throw new Error("hunter2");
    });
    const { error } = await drainStream(callStream(client));
    expect(error).toMatchObject({ code: status.INTERNAL, details: "Internal error." });
    expect(lines).toMatchObject([{ level: "error", facts: { err: { message: "hunter2" } } }]);
  });

  it("takes no more from the service than the client and the connection take", async () => {
    const streams: ReturnType<typeof endless>["seen"][] = [];
    const { port } = await serve(({ call }) => {
      const { seen, events } = endless(call.signal);
      streams.push(seen);
      return events();
    });
    const made = () => streams[0]?.made ?? 0;
    const client = lazyCall(port, streaming);
    await until(() => made() > 0);
    // HTTP/2 sends 64 KiB to a client that does not read, and grpc-js buffers some more.
    expect(await settled(made)).toBeLessThan(30);
    client.resume();
    await until(() => made() > 300);
    client.pause();
    expect(await settled(made)).toBeGreaterThan(300);
    client.close();
    await until(() => streams[0]?.left === true);
    expect(streams[0]?.signal.aborted).toBe(true);
  });

  it("leaves the service's stream when the client vanishes while nothing happens", async () => {
    const seen = { asked: false, left: false, aborted: false };
    const { client } = await serve(({ call }) => ({
      [Symbol.asyncIterator]: () => ({
        next: () => {
          seen.asked = true;
          return new Promise((resolve) =>
            call.signal.addEventListener("abort", () => resolve({ done: true, value: undefined })),
          );
        },
        return: async () => {
          seen.left = true;
          seen.aborted = call.signal.aborted;
          return { done: true, value: undefined };
        },
      }),
    }));
    const stream = callStream(client);
    stream.on("error", () => {});
    await until(() => seen.asked);
    expect(seen.left).toBe(false);
    client.close();
    stream.cancel();
    await until(() => seen.left);
  });

  it("ends at the deadline, and leaves the service's stream", async () => {
    const seen = { left: false };
    const { client } = await serve(async function* ({ call }) {
      try {
        yield taskEvent("0");
        await new Promise<void>((resolve) => call.signal.addEventListener("abort", () => resolve()));
        yield taskEvent("1");
      } finally {
        seen.left = true;
      }
    });
    const { ids, error } = await drainStream(callStream(client, Date.now() + 150));
    expect(ids).toEqual(["0"]);
    expect(error?.code).toBe(status.DEADLINE_EXCEEDED);
    await until(() => seen.left);
  });

  it("leaves the stream of a service that went on after a message could not be encoded", async () => {
    const seen = { left: false };
    const { client, lines } = await serve(async function* () {
      try {
        yield taskEvent("0");
        yield create(TaskSchema, { id: "1" });
        yield taskEvent("2");
      } finally {
        seen.left = true;
      }
    });
    const { ids, error } = await drainStream(callStream(client));
    expect(ids).toEqual(["0"]);
    expect(error?.code).toBe(status.INTERNAL);
    expect(seen.left).toBe(true);
    expect(lines).toHaveLength(1);
  });
});
