import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Limits } from "../../../src/core/limits.js";
import type { Request } from "../cases/case.js";
import { exchange, type Outcome } from "../cases/exchange.js";
import { openWorld } from "../cases/world.js";
import { begin, say } from "./begin.js";
import { seen, seenEvents } from "./seen.js";
import { furtherSpeakers, type Speaker, speakers, withHeaders } from "./speakers.js";

const everySpeaker = [...speakers, ...furtherSpeakers];

let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => {
  world = await openWorld({ preview: "1.1" });
});
afterAll(() => world.close());

const sections = ["<section 1...>", "<section 2...>", "<section 3...>"];

describe("a stream that broke off goes on exactly where it was, by Last-Event-ID", () => {
  for (const speaker of everySpeaker.filter(({ binding }) => binding === "JSONRPC" || binding === "HTTP+JSON")) {
    for (const read of [1, 2, 3, 4]) {
      const title = `${speaker.name}, ${read} events read`;
      it(title, async () => {
        const said = speaker.stream({ text: "write a long paper describing the attached pictures" });
        // 0.1 sends `id:` only on request, because its first client would not read events with one.
        const asks = speaker.version === "0.1" ? { "A2A-Extensions": "urn:parley:ext:resume:v1" } : {};
        const first = await exchange(withHeaders(said, asks), world, { leaveAfter: read });
        const ids = first.ids ?? [];
        expect(ids).toEqual(Array.from({ length: read }, () => expect.stringMatching(/./)));
        const before = seenEvents(first);
        const taskId = before[0]?.taskId ?? "";
        const again = withHeaders(speaker.subscribe(taskId), { "Last-Event-ID": ids.at(-1) ?? "" });
        const rest = await exchange(again, world);
        const after = seenEvents(rest);
        const pieces = [...before, ...after].filter(({ kind }) => kind === "artifact").flatMap(({ texts }) => texts);
        expect(pieces).toEqual(sections);
        expect(after.filter(({ kind, texts = [] }) => kind === "task" && texts.length > 0)).toEqual([]);
        expect(after.at(-1)).toMatchObject({ kind: "status", state: "completed", taskId });
        expect(rest.ended).toBe(true);
      });
    }
  }
});

describe("a send under an Idempotency-Key", () => {
  for (const speaker of everySpeaker) {
    it(`is one task, however often it comes: ${speaker.name}`, async () => {
      const key = { "Idempotency-Key": randomUUID() };
      const named = speaker.version === "0.1" ? { taskId: randomUUID() } : {};
      const said = { text: "hello", messageId: randomUUID(), contextId: randomUUID(), ...named };
      const first = await say(world, speaker, said, key);
      expect(await say(world, speaker, said, key)).toBe(first);
      const events = seenEvents(await exchange(withHeaders(speaker.stream(said), key), world));
      expect(events[0]).toMatchObject({ taskId: first });
      const other = seen(await exchange(withHeaders(speaker.send({ ...said, text: "other" }), key), world));
      expect(other.kind).toBe("error");
      const listed = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: { contextId: said.contextId } };
      const request = { ...(speakers[0] as Speaker).get(""), body: listed };
      expect((await exchange(request, world)).body).toMatchObject({ result: { totalSize: 1 } });
    });
  }
});

/** The same binding in 1.0. */
const nativeOf = ({ binding }: Speaker): Speaker =>
  everySpeaker.find((each) => each.version === "1.0" && each.binding === binding) as Speaker;

interface Bound {
  readonly limits: Partial<Limits>;
  /** The request that exceeds the limit; `meanwhile` is held open during it. */
  readonly tooFar: (speaker: Speaker) => Request;
  readonly meanwhile?: (speaker: Speaker) => Request;
}

const large = "x".repeat(100_000);

const bounds: Readonly<Record<string, Bound>> = {
  maxRequestBytes: {
    limits: { maxRequestBytes: 64 * 1024 },
    tooFar: (speaker) => speaker.send({ text: large }),
  },
  maxIdLength: { limits: {}, tooFar: (speaker) => speaker.get("x".repeat(257)) },
  maxCallsPerCaller: {
    limits: { maxCallsPerCaller: 1 },
    meanwhile: (speaker) => speaker.send({ text: "hold: on" }),
    tooFar: (speaker) => speaker.get("x"),
  },
  maxStreamsPerCaller: {
    limits: { maxStreamsPerCaller: 1 },
    meanwhile: (speaker) => speaker.stream({ text: "hold: on" }),
    tooFar: (speaker) => speaker.stream({ text: "hold: on" }),
  },
};

/** A refusal in the words that all versions of a binding share. */
function refusal({ status, headers, body, events }: Outcome): unknown {
  const said = (events?.[0] ?? body) as { error?: { code?: number }; code?: number } | undefined;
  const isJsonRpc = typeof said === "object" && said !== null && "jsonrpc" in said;
  return { status, retryAfter: headers["retry-after"] !== undefined, code: isJsonRpc ? said?.error?.code : undefined };
}

async function tooFar(speaker: Speaker, { limits, tooFar: request, meanwhile }: Bound): Promise<unknown> {
  const bounded = await openWorld({ preview: "1.1", limits: { shutdownGraceMs: 50, ...limits } });
  try {
    if (meanwhile === undefined) return refusal(await exchange(request(speaker), bounded));
    let found: unknown;
    const held = exchange(meanwhile(speaker), bounded, { patience: 10_000 });
    held.catch(() => {});
    await expect
      .poll(async () => {
        found = refusal(await exchange(request(speaker), bounded, { leaveAfter: 1, patience: 5_000 }));
        return (found as { retryAfter: boolean }).retryAfter;
      })
      .toBe(true);
    return found;
  } finally {
    await bounded.close();
  }
}

describe.each(Object.keys(bounds))("%s", (limit) => {
  const bound = bounds[limit] as Bound;
  for (const speaker of everySpeaker.filter(({ version }) => version !== "1.0")) {
    const native = nativeOf(speaker);
    it(`holds for ${speaker.name} as for ${native.name}`, async () => {
      const expected = await tooFar(native, bound);
      expect(await tooFar(speaker, bound)).toEqual(expected);
      expect(expected).not.toMatchObject({ status: 200, code: undefined });
    });
  }
});

describe("maxBlockingMs", () => {
  const bound = { limits: { maxBlockingMs: 50 }, tooFar: (speaker: Speaker) => speaker.send({ text: "hold: on" }) };
  for (const speaker of everySpeaker.filter(({ version }) => version !== "1.0" && version !== "0.1")) {
    const native = nativeOf(speaker);
    it(`holds for ${speaker.name} as for ${native.name}`, async () => {
      expect(await tooFar(speaker, bound)).toEqual(await tooFar(native, bound));
    });
  }
  const [oldest] = speakers.filter(({ version }) => version === "0.1") as [Speaker];
  it("a client of 0.1, which cannot ask not to wait, gets the task as it is", async () => {
    const bounded = await openWorld({ limits: { shutdownGraceMs: 50, ...bound.limits } });
    try {
      const task = seen(await exchange(bound.tooFar(oldest), bounded));
      expect(task).toMatchObject({ kind: "task", state: expect.stringMatching(/submitted|working/) });
    } finally {
      await bounded.close();
    }
  });
});

describe("a cancel", () => {
  for (const speaker of everySpeaker) {
    it(`of a task that is over is refused: ${speaker.name}`, async () => {
      const taskId = await begin(world, speaker, { text: "hold: on" });
      expect(seen(await exchange(speaker.cancel(taskId), world))).toMatchObject({ state: "canceled" });
      const { kind, error } = seen(await exchange(speaker.cancel(taskId), world));
      expect(kind).toBe("error");
      expect([-32002, "FAILED_PRECONDITION", "failed_precondition", 400, 409]).toContain(error);
    });
  }
});
