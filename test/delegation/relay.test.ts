import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Artifact, PartSchema, type StreamResponse, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { type RelayedEvent, relayCheckpoint } from "../../src/agent/delegation.js";
import { type AgentEvent, artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import { Relay, type RelayedAgentEvent, restOf } from "../../src/delegation/relay.js";
import { type RelayPlace, relayedOf, rootOf } from "../../src/delegation/relayed.js";
import { ArtifactIds, createdDraft, statusDraft } from "../../src/engine/log/draft.js";
import { storedCheckpoint } from "../../src/engine/run/relayed.js";
import { type Draft, decodeEntry, encodeEntry, eventResponse, placeDraft } from "../../src/task/entry.js";
import { TaskFold, viewTask } from "../../src/task/fold.js";
import { firstTurn } from "../engine/support.js";

/** A task's log as the engine writes it, from drafts of an agent's events. */
class Log {
  readonly entries: LogEntry[] = [];
  readonly fold = new TaskFold();
  #ids: ArtifactIds;
  #time = 1_000;

  constructor() {
    this.#store(createdDraft(firstTurn, this.#time));
    this.#ids = new ArtifactIds(this.fold);
  }

  add(event: AgentEvent & Partial<RelayedAgentEvent>): LogEntry {
    if (event.kind === "reply" || event.kind === "metadata") throw new Error(`no ${event.kind} here`);
    const place = { taskId: "t", contextId: "c" };
    this.#time += 1;
    const draft =
      event.kind === "artifact"
        ? this.#ids.draft(event, place, this.#time)
        : statusDraft(place, event.state, event.content, this.#time);
    const checkpoint = event[relayCheckpoint];
    return this.#store(checkpoint === undefined ? draft : { ...draft, relay: storedCheckpoint(checkpoint) });
  }

  /** The event at a generation, as followers receive it. */
  response(generation: number): StreamResponse {
    const entry = this.entries[generation - 1];
    if (entry?.event.case !== "status" && entry?.event.case !== "artifact") throw new Error("not an event");
    return eventResponse(entry.event.value);
  }

  /** The task at a generation. */
  at(generation: number): Task {
    const fold = new TaskFold();
    for (const entry of this.entries.slice(0, generation)) fold.apply(entry);
    return viewTask(fold.task);
  }

  relayed(): RelayedEvent[] {
    return this.entries.flatMap(({ relay, event }) => {
      if (relay === undefined) return [];
      return [{ checkpoint: relay, message: event.case === "status" ? event.value.status?.message : undefined }];
    });
  }

  #store(draft: Draft): LogEntry {
    const position = this.entries.length + 1;
    // Encodes and decodes the entry, as a store does.
    const entry = decodeEntry(encodeEntry(placeDraft(draft, position, position)));
    this.entries.push(entry);
    this.fold.apply(entry);
    return entry;
  }
}

const place: RelayPlace = { delegation: "0", origin: 1, turn: 1, agent: "other" };

const part = fc.oneof(
  fc.record({ text: fc.string({ maxLength: 4 }) }),
  fc.record({ data: fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<never> }),
  fc.record({ url: fc.webUrl(), mediaType: fc.constant("image/png"), filename: fc.constant("a.png") }),
);
const event: fc.Arbitrary<AgentEvent> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(working()) },
  { weight: 2, arbitrary: fc.string({ minLength: 1, maxLength: 6 }).map((text) => working(text)) },
  {
    weight: 5,
    arbitrary: fc
      .record({
        id: fc.constantFrom("a", "b", "c"),
        name: fc.constantFrom("one", "two"),
        parts: fc.array(part, { minLength: 1, maxLength: 3 }),
        append: fc.boolean(),
      })
      .map((input) => artifact(input)),
  },
);

/** A part of a relay's life. The relay receives `told` events, and then the stream or the process ends. */
const trip = fc.record({
  told: fc.nat({ max: 12 }),
  /** Number of yielded events that were not stored when the process died. */
  lost: fc.nat({ max: 6 }),
  dies: fc.boolean(),
  /** Number of earlier events that are sent again. */
  again: fc.nat({ max: 3 }),
});
type Trip = typeof trip extends fc.Arbitrary<infer T> ? T : never;

/** The other agent's abilities: it may send generations, and it may begin each stream with the current task. */
interface Manner {
  readonly generations: boolean;
  readonly snapshots: boolean;
}

function textsOf(entries: readonly LogEntry[]): string[] {
  return entries.flatMap(({ event }) => {
    const message = event.case === "status" ? event.value.status?.message : undefined;
    return message?.parts.map(({ content }) => String(content.value)) ?? [];
  });
}

function plain({ artifacts }: Task): object[] {
  return artifacts
    .map(({ artifactId, name, parts }: Artifact) => ({ id: artifactId.replace(/^1\.0\//, ""), name, parts }))
    .toSorted((a, b) => a.id.localeCompare(b.id));
}

/** Artifacts with adjacent texts joined, because a snapshot does not show the borders of pieces. */
function joined({ artifacts }: Task): object[] {
  return artifacts
    .map(({ artifactId, parts }) => {
      const all: (string | object)[] = [];
      for (const part of parts) {
        const { content } = part;
        const before = all.at(-1);
        if (content.case !== "text") all.push(part);
        else if (typeof before === "string") all[all.length - 1] = before + content.value;
        else all.push(content.value);
      }
      return { id: artifactId.replace(/^1\.0\//, ""), parts: all };
    })
    .toSorted((a, b) => a.id.localeCompare(b.id));
}

/** Relays a task to its end, through cuts and crashes. */
function relayAll(other: Log, trips: readonly Trip[], { generations, snapshots }: Manner): Log {
  const last = other.entries.length;
  const generation = (at: number): number | undefined => (generations ? at : undefined);
  let stored: AgentEvent[] = [];
  const rebuilt = (): Log => {
    const log = new Log();
    for (const each of stored) log.add(each);
    return log;
  };
  let relay: Relay | undefined;
  let seen = 1;
  let newest = 1;
  for (const { told, lost, dies, again } of [...trips, { told: last, lost: 0, dies: false, again: 0 }]) {
    if (relay === undefined) {
      const log = rebuilt();
      const have = relayedOf(log.relayed(), log.fold.task, place);
      relay = new Relay(place, have);
      if (have.taskId === "") stored.push(...relay.begin(other.at(1), generation(1)));
      if (generations && have.generation > 0) seen = have.generation;
    }
    const yielded: AgentEvent[] = [];
    if (snapshots) {
      // A snapshot is at least as new as every earlier event.
      newest = Math.min(last, newest + Math.floor(told / 2));
      seen = newest;
      yielded.push(...relay.snapshot(other.at(seen), generation(seen)));
    }
    const from = generations ? Math.max(1, seen - again) : seen;
    const to = Math.min(last, from + told);
    for (let at = Math.max(2, from + 1); at <= to; at++) {
      const made = relay.event(other.response(at), generation(at));
      if (made !== undefined) yielded.push(made);
    }
    seen = Math.max(seen, to);
    newest = Math.max(newest, seen);
    stored = [...stored, ...yielded.slice(0, dies ? Math.max(0, yielded.length - lost) : yielded.length)];
    if (dies) relay = undefined;
  }
  return rebuilt();
}

describe("Relay", () => {
  const manners: readonly [string, Manner][] = [
    ["by generations alone", { generations: true, snapshots: false }],
    ["by tasks as they stand, without generations", { generations: false, snapshots: true }],
    ["by both", { generations: true, snapshots: true }],
  ];
  it.each(manners)("gives the same task, each text once, however often it is cut and killed, %s", (_name, manner) => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 30 }), fc.array(trip, { maxLength: 8 }), (events, trips) => {
        const other = new Log();
        for (const each of events) other.add(each);
        other.add(completed("the end"));
        const ours = relayAll(other, trips, manner);
        const form = manner.snapshots ? joined : plain;
        expect(form(ours.fold.task)).toEqual(form(other.fold.task));
        expect(textsOf(ours.entries)).toEqual(textsOf(other.entries));
        if (manner.snapshots) return;
        const pieces = ({ entries }: Log): number => entries.filter(({ event }) => event.case === "artifact").length;
        expect(pieces(ours)).toBe(pieces(other));
      }),
      { numRuns: 300 },
    );
  });

  it("gives artifacts ids that no other delegation has", () => {
    const piece = create(PartSchema, { content: { case: "text", value: "x" } });
    const response = (artifactId: string): StreamResponse =>
      eventResponse({
        $typeName: "lf.a2a.v1.TaskArtifactUpdateEvent",
        taskId: "",
        contextId: "",
        append: false,
        lastChunk: false,
        artifact: {
          ...(new Log().fold.task.artifacts[0] as unknown as Artifact),
          artifactId,
          name: "",
          description: "",
          parts: [piece],
          extensions: [],
          $typeName: "lf.a2a.v1.Artifact",
        },
      });
    const ids = ["a", "a.b", "a-b", "0"].flatMap((delegation) =>
      [1, 11].flatMap((origin) =>
        ["x", "b/x", "-b", "1.0/x"].map((id) => {
          const at = { ...place, delegation, origin };
          const made = new Relay(at, relayedOf([], undefined, at)).event(response(id));
          return made?.kind === "artifact" ? made.id : undefined;
        }),
      ),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("passes questions on, once", () => {
    const other = new Log();
    other.add(inputRequired("which?"));
    const relay = new Relay(place, relayedOf([], undefined, place));
    const asked = relay.event(other.response(2), 2);
    expect(asked).toMatchObject({
      kind: "status",
      state: TaskState.INPUT_REQUIRED,
      content: { parts: [{ text: "which?" }] },
    });
    expect(relay.snapshot(other.at(2), 2)).toEqual([]);
    expect(relay.snapshot(other.at(2))).toEqual([]);
  });
});

describe("rootOf()", () => {
  const checkpoint = (turn: number, origin: number, state: TaskState): RelayedEvent => ({
    checkpoint: { ...place, turn, origin, state, taskId: "s", contextId: "", generation: 0, messageId: "" },
    message: undefined,
  });
  it("is the message that began the delegations whose question a turn answers", () => {
    expect(rootOf([], 3)).toBe(3);
    expect(rootOf([checkpoint(1, 1, TaskState.WORKING)], 3)).toBe(3);
    expect(rootOf([checkpoint(1, 1, TaskState.INPUT_REQUIRED)], 3)).toBe(1);
    expect(rootOf([checkpoint(1, 1, TaskState.INPUT_REQUIRED), checkpoint(3, 1, TaskState.WORKING)], 3)).toBe(1);
  });
});

describe("restOf()", () => {
  const texts = (...values: string[]) =>
    values.map((value) => create(PartSchema, { content: { case: "text", value } }));
  const read = (parts: ReturnType<typeof restOf>) => parts?.map(({ content }) => content.value);
  it("finds what is new, also where a server has joined texts", () => {
    expect(read(restOf(texts("a", "b"), texts("a", "b", "c")))).toEqual(["c"]);
    expect(read(restOf(texts("a", "b"), texts("abc")))).toEqual(["c"]);
    expect(read(restOf(texts("a", "b"), texts("ab")))).toEqual([]);
    expect(restOf(texts("a", "b"), texts("a", "x"))).toBeUndefined();
    expect(restOf(texts("a"), [])).toBeUndefined();
  });
});
