import { clone } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Task, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { ClientCore } from "../../src/client/calls/core.js";
import { follow, stream } from "../../src/client/follow/send.js";
import { type Agent, artifact, completed, createServer, type Server, working } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { Update } from "../../src/task/answer.js";
import { type Cut, CuttingProxy } from "../support/cutting-proxy.js";
import { scaled } from "../support/soak.js";
import { type ClientBinding, clientBindings, coreOver } from "./cores.js";

/** Number of cut connections in each stream. */
const CUTS = scaled(40, 100);

/** States of all streams by message. The agent continues until the proxy of its message has made its cuts. */
const stories = new Map<string, Story>();

interface Story {
  readonly isOver: () => boolean;
  /** The pieces of the artifact `all`. */
  readonly pieces: string[];
}

/**
 * Yields pieces of one artifact. At times it also yields a status with a message, another artifact, or a replacement of
 * an artifact.
 */
const agent: Agent = {
  card: { name: "Cut", description: "Says much.", version: "1.0.0", skills: [] },
  async *execute(turn) {
    const { isOver, pieces } = stories.get(turn.text) as Story;
    yield working("Begun.");
    for (let index = 0; !isOver(); index++) {
      const text = `${index}: ${"äβ𝄞".repeat(index % 4)} `;
      pieces.push(text);
      yield artifact({ id: "all", text, append: index > 0 });
      if (index % 50 === 0) yield working(`${index} done.`);
      if (index % 70 === 0) yield artifact({ id: "count", data: { index }, metadata: { [`m${index % 3}`]: index } });
      if (index % 90 === 0)
        yield artifact({ id: `more-${index % 4}`, parts: [{ raw: new Uint8Array(index % 40) }], append: true });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    yield completed("Done.");
  },
};

/** Pseudo-random numbers from 0 to 1, the same for the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const seed = Number(process.env.PARLEY_CUT_SEED ?? Math.trunc(Math.random() * 1e9));

type Cuts = (next: () => number, nth: number) => Cut;

/** Cuts before the first byte, then after the first frame, then anywhere. */
const byBytes: Cuts = (next, nth) => {
  if (nth === 1 || (nth > 2 && next() < 0.1)) return { bytes: 0 };
  return { bytes: nth === 2 ? 2_500 : Math.trunc(next() * 1_800) };
};

/**
 * Cuts before the first byte or after some time. A number of bytes would not do, because a snapshot alone may exceed
 * it.
 */
const byTime: Cuts = (next, nth) => (nth === 1 || next() < 0.1 ? { bytes: 0 } : { ms: next() * 60 });

/** A proxy that makes `CUTS` cuts and refuses connections for a while after every tenth. */
function cutting(port: number, cuts: Cuts): Promise<CuttingProxy> {
  const next = random(seed);
  return CuttingProxy.open(port, { plan: (nth) => cuts(next, nth), most: CUTS, refuseEvery: 10 });
}

interface Seen {
  readonly task: Task;
  readonly generations: readonly (number | undefined)[];
  readonly kinds: ReadonlySet<Update["kind"]>;
  /** The text of the updates of the artifact `all`. */
  readonly text: string;
}

async function seen(updates: AsyncIterable<Update>, onTask: (id: string) => void = () => {}): Promise<Seen> {
  const kinds = new Set<Update["kind"]>();
  const generations: (number | undefined)[] = [];
  let text = "";
  let task: Task | undefined;
  for await (const update of updates) {
    generations.push(update.generation);
    if (generations.length === 1) onTask(update.task?.id ?? "");
    kinds.add(update.kind);
    if (update.artifact?.artifactId === "all") text += update.text;
    task = update.task;
  }
  if (task === undefined) throw new Error("There was no task.");
  return { task: clone(TaskSchema, task), generations, kinds, text };
}

describe(`a stream whose connections are cut at random (PARLEY_CUT_SEED=${seed})`, () => {
  let server: Server;

  beforeAll(async () => {
    server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: 0, host: "127.0.0.1" });
  });

  afterAll(() => server.close());

  const portOf = (binding: ClientBinding): number =>
    Number(new URL(binding === "GRPC" ? `http://127.0.0.1:${server.grpcPort}` : server.url).port);

  const urlOf = (binding: ClientBinding, port: number): string =>
    binding === "GRPC" ? `127.0.0.1:${port}` : `http://127.0.0.1:${port}`;

  /** Follows a task through cuts and, beside it, over an intact connection. */
  async function both(binding: ClientBinding, cuts: Cuts, more: Partial<ClientCore>, signal: AbortSignal) {
    const port = portOf(binding);
    const proxy = await cutting(port, cuts);
    const cut = coreOver(binding, urlOf(binding, proxy.port), more);
    const whole = coreOver(binding, urlOf(binding, port));
    const story: Story = { isOver: () => proxy.cuts >= CUTS || signal.aborted, pieces: [] };
    const name = `${binding} ${stories.size}`;
    stories.set(name, story);
    try {
      let uncut: Promise<Seen> | undefined;
      const one = await seen(stream(cut, name, { signal }), (id) => {
        uncut = seen(follow(whole, id, { signal }));
        uncut.catch(() => {});
      });
      const text = story.pieces.join("");
      return { cut: one, uncut: await (uncut as Promise<Seen>), text, proxy };
    } finally {
      await Promise.all([cut.close(), whole.close(), proxy.close()]);
    }
  }

  it.for(clientBindings)(
    "ends with the same task, every event once, over %s",
    { timeout: 120_000 },
    async (binding, { signal }) => {
      const { cut, uncut, text, proxy } = await both(binding, byBytes, {}, signal);
      expect([proxy.cuts, proxy.refusals]).toEqual([CUTS, CUTS / 10]);
      expect(cut.text).toBe(text);
      expect(cut.kinds).toEqual(new Set(["task", "status", "artifact"]));
      const first = cut.generations[0] ?? 0;
      expect(cut.generations).toEqual(cut.generations.map((_, index) => first + index));
      expect(cut.task).toEqual(uncut.task);
    },
  );

  it.for(clientBindings)(
    "ends with the same task where it goes on by snapshot, over %s",
    { timeout: 120_000 },
    async (binding, { signal }) => {
      const { cut, uncut, proxy } = await both(binding, byTime, { canResume: false }, signal);
      expect([proxy.cuts, proxy.refusals]).toEqual([CUTS, CUTS / 10]);
      expect(cut.kinds).toContain("snapshot");
      expect(cut.task).toEqual(uncut.task);
    },
  );
});
