import type { JsonObject } from "@bufbuild/protobuf";
import type { Add, History, Tasks } from "./check.js";
import { canonical } from "./marks.js";
import type { Noted } from "./records.js";

type Notified = Extract<Noted, { kind: "notified" }>;
type Disturbed = Extract<Noted, { kind: "disturbed" }>;

/**
 * Time after a disturbance in which data sent before it may still arrive, because TCP repeats it with growing delays.
 */
const LATE_MS = 5_000;

/**
 * Share of the lease after which a second sender may appear. A suspended sender loses its lease while the receiver
 * still handles its notification. A running sender ends its requests before that. The share leaves time for a heartbeat
 * that was due.
 */
const LEASE_SHARE = 0.6;

/** Checks that webhooks accepted every event of their tasks, in order, and from one sender at a time. */
export function checkWebhooks({ notes, leaseMs = 0 }: History, tasks: Tasks, add: Add): void {
  const came = new Map<string, Notified[]>();
  for (const note of notes) {
    if (note.kind === "notified") came.set(note.hook, [...(came.get(note.hook) ?? []), note]);
  }
  const disturbed = notes.filter((note) => note.kind === "disturbed");
  for (const [hook, some] of came) {
    some.sort((a, b) => a.begun - b.begun);
    checkOrder(hook, some, add);
    checkSenders(hook, some, { leaseMs, disturbed }, add);
  }
  const hooked = new Map(notes.flatMap((note) => (note.kind === "hooked" ? [[note.hook, note.task] as const] : [])));
  for (const [hook, id] of hooked) {
    const task = tasks.get(id);
    const accepted = new Map(
      (came.get(hook) ?? []).filter(isAccepted).map(({ generation, body }) => [generation, body]),
    );
    const events = new Map(task?.events);
    for (let generation = 1; generation <= (task?.generation ?? 0); generation++) {
      const body = accepted.get(generation);
      const event = events.get(generation);
      const place = `${hook} for ${generation} of ${id}`;
      if (body === undefined) add("webhooks get every event", `${place} got nothing`);
      else if (event !== undefined && plain(event) !== plain(body)) {
        add("webhooks get every event", `${place} got ${plain(body)} for ${plain(event)}`);
      }
    }
  }
}

const isAccepted = ({ status }: Notified): boolean => status >= 200 && status < 300;

/** Checks that an event arrives after the earlier ones were accepted, and that a repeated event is unchanged. */
function checkOrder(hook: string, came: readonly Notified[], add: Add): void {
  const ids = new Map<number, string>();
  for (const { generation, id, body, begun } of came) {
    const place = `${hook} got ${generation}`;
    const isDue =
      generation === 1 ||
      came.some((other) => other.generation === generation - 1 && isAccepted(other) && other.at <= begun);
    if (!isDue) add("webhooks get events in order", `${place} before it had accepted the one before`);
    const what = `${id} ${plain(body)}`;
    const known = ids.get(generation);
    if (known !== undefined && known !== what)
      add("webhooks get events in order", `${place} as ${known}, then as ${what}`);
    ids.set(generation, what);
  }
}

/** Checks that a webhook answers one notification before it gets the next one. */
function checkSenders(
  hook: string,
  came: readonly Notified[],
  { leaseMs, disturbed }: { readonly leaseMs: number; readonly disturbed: readonly Disturbed[] },
  add: Add,
): void {
  const isLate = ({ from, begun }: Notified): boolean =>
    disturbed.some((one) => one.address === from && begun >= one.begun && begun <= one.at + LATE_MS);
  came.forEach((first, index) => {
    for (const second of came.slice(index + 1)) {
      if (second.begun >= first.at) continue;
      const isLeft = second.begun - first.begun >= LEASE_SHARE * leaseMs;
      if (isLeft || isLate(first) || isLate(second)) continue;
      const both = `${first.generation} of ${first.from} and ${second.generation} of ${second.from}`;
      add("webhooks have one sender", `${hook} had ${both} at once, ${second.begun - first.begun} ms apart`);
    }
  });
}

/** An event without its metadata, which only streams have. Times have one notation. */
function plain(event: JsonObject): string {
  const [[kind, value] = ["", {}]] = Object.entries(event);
  const { metadata: _, ...rest } = value as JsonObject;
  return canonical({ [kind]: rest }).replaceAll(".000Z", "Z");
}
