import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SendMessageResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { neverArrived } from "../../../src/client/errors/errors.js";
import { http2Client } from "../../../src/client/node/http2.js";
import { reach } from "../../../src/client/node/platform.js";
import { Sessions, type SessionTimes } from "../../../src/client/node/sessions.js";
import type { A2AError } from "../../../src/core/error.js";
import { DATA, END_HEADERS, END_STREAM, fields, frame, HEADERS } from "../../network/frames.js";
import { cardJson } from "../card-server.js";
import { atEnd, connect } from "../world.js";
import { answer, goaway, headers, mostStreams, reset, scripted } from "./scripted-http2.js";

const times: SessionTimes = { checkMs: 10, silenceMs: 60_000, pingMs: 60_000, againMs: 0, idleMs: 60_000 };

function asking(origin: string, sockets: Socket[] = [], given: Partial<SessionTimes> = {}) {
  const sessions = new Sessions(
    (to) => {
      const socket = reach(to, { timeoutMs: 60_000, secure: {} });
      sockets.push(socket);
      return socket;
    },
    { ...times, ...given },
  );
  atEnd(() => sessions.close());
  const http = http2Client(sessions);
  return async (signal?: AbortSignal): Promise<string> => {
    const asked = { url: `${origin}/`, method: "POST", headers: [], ...(signal && { signal }) };
    return (await http(asked)).text(1_000);
  };
}

const failure = (call: Promise<unknown>): Promise<A2AError> =>
  call.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );

const NO_ERROR = 0;
const REFUSED_STREAM = 7;
const ENHANCE_YOUR_CALM = 11;

describe("a request that its server did not begin with", () => {
  it.each([
    ["a reset", (stream: number) => [reset(stream, REFUSED_STREAM)]],
    ["the end of the connection", () => [goaway(0, NO_ERROR)]],
    ["a complaint", () => [goaway(0, ENHANCE_YOUR_CALM)]],
  ])("never arrived, by %s", async (_, does) => {
    const { origin } = await scripted(({ stream }) => does(stream));
    const error = await failure(asking(origin)());
    expect(error).toMatchObject({
      reason: "UNAVAILABLE",
      message: expect.stringContaining("did not take the request"),
    });
    expect(neverArrived(error)).toBe(true);
  });

  it("is told from those that it has begun with", async () => {
    for (const code of [NO_ERROR, ENHANCE_YOUR_CALM]) {
      const { origin } = await scripted(({ stream }) => (stream === 3 ? [goaway(1, code)] : []));
      const ask = asking(origin);
      const first = failure(ask());
      const second = await failure(ask());
      expect(neverArrived(second)).toBe(true);
      if (code !== NO_ERROR) expect(neverArrived(await first)).toBe(false);
    }
  });

  it.each([
    ["was answered in part", (stream: number) => [headers(stream), reset(stream, REFUSED_STREAM)]],
    ["was called off", (stream: number) => [reset(stream, 8)]],
  ])("is none that %s", async (_, does) => {
    const { origin } = await scripted(({ stream }) => does(stream));
    expect(neverArrived(await failure(asking(origin)()))).toBe(false);
  });

  it("is sent again, over gRPC, where the agent does not say that messages may be repeated", async () => {
    const message = toBinary(
      SendMessageResponseSchema,
      create(SendMessageResponseSchema, {
        payload: { case: "message", value: { parts: [{ content: { case: "text", value: "hi" } }] } },
      }),
    );
    const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
    // Status 200 as an index of HPACK's static table.
    const head = Buffer.concat([Buffer.from([0x88]), fields({ "content-type": "application/grpc" })]);
    const trailers = fields({ "grpc-status": "0" });
    const { origin, sockets } = await scripted(({ stream, nth }) => {
      if (nth === 1) return [goaway(0, NO_ERROR)];
      if (nth === 2) return [reset(stream, REFUSED_STREAM)];
      return [
        frame(HEADERS, END_HEADERS, stream, head),
        frame(DATA, 0, stream, envelope),
        frame(HEADERS, END_HEADERS | END_STREAM, stream, trailers),
      ];
    });
    const supportedInterfaces = [{ protocolBinding: "GRPC", url: origin, protocolVersion: "1.0" }];
    const client = await connect(cardJson({ supportedInterfaces }));
    expect((await client.send("x")).text).toBe("hi");
    expect(sockets).toHaveLength(2);
  });
});

describe("a request that is ended without an answer", () => {
  it("fails, also where that is no error (NO_ERROR)", async () => {
    const { origin } = await scripted(({ stream }) => [reset(stream, NO_ERROR)]);
    const error = await failure(asking(origin)());
    expect(error).toMatchObject({ reason: "UNAVAILABLE", cause: { code: "ECONNRESET" } });
    expect(neverArrived(error)).toBe(false);
  });
});

describe("a server that allows fewer calls", () => {
  it("has no more of them on one connection, also when one does not end", async () => {
    const { origin, sockets } = await scripted(
      ({ stream, nth }) => (nth === 2 ? [] : [answer(stream)]),
      mostStreams(1),
    );
    const ask = asking(origin);
    await ask();
    const stop = new AbortController();
    const endless = failure(ask(stop.signal));
    expect(await Promise.all([ask(), ask()])).toEqual(["here", "here"]);
    expect(sockets).toHaveLength(2);
    stop.abort();
    await endless;
  });

  it("may say so later, and that it wants none for a moment", async () => {
    const held: number[] = [];
    const { origin, sockets } = await scripted(({ stream, connection, nth }) => {
      if (nth === 1) return [answer(stream), mostStreams(0)];
      if (connection === 1) held.push(stream);
      return [answer(stream)];
    });
    const ask = asking(origin);
    await ask();
    await sleep(50);
    const waiting = ask();
    expect(await ask()).toBe("here");
    expect([sockets.length, held]).toEqual([2, []]);
    sockets[0]?.write(mostStreams(5));
    expect(await waiting).toBe("here");
    expect(held).toHaveLength(1);
  });
});

describe("a connection that nobody waits for any more", () => {
  it("is not made", async () => {
    const { origin } = await scripted(({ stream }) => [answer(stream)]);
    const sockets: Socket[] = [];
    const ask = asking(origin, sockets);
    const stop = new AbortController();
    const calls = [failure(ask(stop.signal)), failure(ask(stop.signal))];
    expect(sockets.map(({ connecting }) => connecting)).toEqual([true]);
    stop.abort();
    await Promise.all(calls);
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true]);
    expect(await ask()).toBe("here");
  });

  it("is closed, although the other side does not close it", async () => {
    const { origin } = await scripted(({ stream }) => [goaway(stream, NO_ERROR), answer(stream)]);
    const sockets: Socket[] = [];
    const ask = asking(origin, sockets);
    expect(await ask()).toBe("here");
    const [socket] = sockets as [Socket];
    if (!socket.destroyed) await once(socket, "close");
    expect(await ask()).toBe("here");
    expect(sockets).toHaveLength(2);
  });
});

describe("a clock that is set back", () => {
  afterEach(() => vi.useRealTimers());

  it("does not have a call wait at a connection that is gone", async () => {
    const { origin, sockets } = await scripted(({ stream, connection, nth }) =>
      connection === 1 && nth > 1 ? [] : [answer(stream)],
    );
    const ask = asking(origin, [], { checkMs: 60_000, pingMs: 200 });
    await ask();
    // Simulates a router that has lost the connection: no byte arrives.
    sockets[0]?.removeAllListeners("data").pause();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 3_600_000 });
    expect(await ask()).toBe("here");
    expect(sockets).toHaveLength(2);
  });
});

describe("the answer to a ping", () => {
  it("counts when the program was too busy to read it in time", async () => {
    let finish = () => {};
    let pings = 0;
    const does = ({ stream, socket }: { stream: number; socket: Socket }) => {
      finish = () => socket.write(answer(stream));
      return [];
    };
    const pinged = () => {
      pings += 1;
      if (pings > 1) return finish();
      // The answer arrives, but the blocked thread reads it after the deadline.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
    };
    const { origin, sockets } = await scripted(does, undefined, pinged);
    expect(await asking(origin, [], { silenceMs: 50, checkMs: 20, pingMs: 300 })()).toBe("here");
    expect(sockets).toHaveLength(1);
  });
});
