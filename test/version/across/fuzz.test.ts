import type { JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Logger } from "../../../src/core/log.js";
import { seeded } from "../../support/slow-store.js";
import { scaled } from "../../support/soak.js";
import type { Request, Step } from "../cases/case.js";
import { cases } from "../cases/cases.js";
import { exchange } from "../cases/exchange.js";
import { Variables } from "../cases/variables.js";
import { openWorld } from "../cases/world.js";
import { seenEvents } from "./seen.js";
import { type Speaker, speakers } from "./speakers.js";

/** So many requests of each kind; the same ones in every run. */
const COUNT = Number(process.env.FUZZ ?? scaled(50, 300));

class Fuzzer {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  /** The value with a few things changed, most of them deep inside. */
  changed(value: JsonValue, chance = 0.12): JsonValue {
    if (this.#random() < chance) return this.#other(value);
    if (Array.isArray(value)) {
      const items = value.map((item) => this.changed(item, chance));
      return this.#random() < chance / 2 ? [...items, ...items] : items;
    }
    if (typeof value !== "object" || value === null) return value;
    const members: [string, JsonValue][] = [];
    for (const [name, member] of Object.entries(value)) {
      const draw = this.#random();
      if (draw < chance / 3) continue;
      members.push([draw > 1 - chance / 3 ? this.pick(names) : name, this.changed(member, chance)]);
    }
    if (this.#random() < chance) members.push([this.pick(names), this.pick(values)]);
    return Object.fromEntries(members);
  }

  #other(value: JsonValue): JsonValue {
    if (typeof value === "string" && this.#random() < 0.3)
      return `${value}${this.pick(["\u0000", " ", "é", "\ud800", "/"])}`;
    return this.pick(values);
  }
}

/** Values that replace the valid ones. */
const values: readonly JsonValue[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e300,
  "",
  " ",
  "a",
  "x".repeat(3_000),
  "\u0000",
  "user",
  "agent",
  "ROLE_USER",
  "task",
  "message",
  "completed",
  "TASK_STATE_CANCELLED",
  "tasks/x",
  "tasks/x/pushNotificationConfigs/y",
  "....",
  "2025-13-99",
  "2025-04-02T16:59:25.331844",
  "data:,x",
  "http://127.0.0.1:1/",
  [],
  [[]],
  [null],
  {},
  { kind: "text", text: "x" },
  { type: "text", text: "x" },
  { text: "x" },
  { kind: "file", file: { bytes: "%%%" } },
  { kind: "data", data: [1] },
  { data: { data: {} } },
  { file: { fileWithUri: "x", fileWithBytes: "eA==" } },
  { a: { a: { a: { a: [{}] } } } },
];

/** Names that members get: those of all versions, and some that objects have anyway. */
const names: readonly string[] = [
  "kind",
  "type",
  "id",
  "taskId",
  "contextId",
  "sessionId",
  "parts",
  "content",
  "message",
  "request",
  "metadata",
  "role",
  "text",
  "file",
  "data",
  "bytes",
  "uri",
  "name",
  "parent",
  "config",
  "configId",
  "pushNotificationConfig",
  "pushNotification",
  "status",
  "configuration",
  "historyLength",
  "blocking",
  "referenceTaskIds",
  "extensions",
  "messageId",
  "artifact",
  "final",
  "jsonrpc",
  "method",
  "params",
  "constructor",
  "__proto__",
  "toString",
  "data_part_compat",
  "returnImmediately",
  "raw",
  "url",
  "mediaType",
];

/** The requests of the cases of one binding: what clients of those versions send. */
const isOf = (binding: string) => (request: Request) =>
  binding === "JSONRPC"
    ? request.method === "POST" && request.path === "${rpc}" && request.body !== undefined
    : request.path.startsWith("${rest}");

const stepsOf = (step: Step & { readonly given?: readonly Step[] }): Step[] => [
  ...(step.given ?? []),
  step,
  ...(step.expect.during ?? []),
];

describe.each(["JSONRPC", "HTTP+JSON"])("requests of older versions with something wrong, over %s", (binding) => {
  const errors: string[] = [];
  let world: Awaited<ReturnType<typeof openWorld>>;
  beforeAll(async () => {
    const quiet = (): void => {};
    const logger: Logger = {
      info: quiet,
      warn: quiet,
      debug: quiet,
      error: (...args: unknown[]) => void errors.push(args.map((each) => JSON.stringify(each)).join(" ")),
    } as unknown as Logger;
    // Short limits, so that requests do not wait for long and unfinished tasks do not affect later ones.
    world = await openWorld({ logger, limits: { shutdownGraceMs: 50, maxBlockingMs: 200 } });
  });
  afterAll(() => world.close());

  /** Number of stored tasks. */
  async function count(): Promise<number> {
    const body = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: { pageSize: 1 } };
    const listed = await exchange({ ...(speakers[0] as Speaker).get(""), body }, world);
    return (listed.body as { result: { totalSize: number } }).result.totalSize;
  }

  it(`are never an internal error, never hang, and leave nothing behind where they are refused`, {
    timeout: 120_000,
  }, async () => {
    const requests = cases
      .flatMap(stepsOf)
      // A stream of a task that is held would never end.
      .map(({ request }) => JSON.parse(JSON.stringify(request).replaceAll("hold: ", "told: ")) as Request)
      .filter(isOf(binding));
    expect(requests.length).toBeGreaterThan(20);
    const fuzzer = new Fuzzer(Number(process.env.SEED ?? binding.length));
    const refusals = new Set<unknown>();
    for (let i = 0; i < COUNT; i++) {
      const variables = new Variables({
        rpc: "/",
        rest: "",
        webhook: world.webhook.urlOf("/fuzz"),
        token: "t",
        extension: "e",
        taskId: "x",
        contextId: "c",
      });
      const original = variables.fillAll(fuzzer.pick(requests) as unknown as JsonValue) as unknown as Request;
      const request = original.body === undefined ? original : { ...original, body: fuzzer.changed(original.body) };
      const before = await count();
      const outcome = await exchange(request, world, { patience: 15_000 });
      const shown = `${i}: ${JSON.stringify(request).slice(0, 2_000)} -> ${JSON.stringify(outcome).slice(0, 1_000)}`;
      expect(outcome.status, shown).not.toBe(500);
      expect(outcome.ended, shown).not.toBe(false);
      expect(errors, shown).toEqual([]);
      const refused = seenEvents(outcome).find(({ kind }) => kind === "error");
      if (refused === undefined || isLate(outcome.body)) continue;
      refusals.add(refused.error);
      expect(await count(), shown).toBe(before);
    }
    // The refusals come from more than one check.
    expect(refusals.size).toBeGreaterThan(2);
  });
});

/** True if the call timed out. Its task may then exist. */
function isLate(body: JsonValue | undefined): boolean {
  return /DEADLINE|TIMEOUT|-32603|504/.test(JSON.stringify(body) ?? "");
}
